import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drive } from './drive.ts';
import { type Comparison, compare, createScale, type Figures, percentile } from './measure.ts';
import { describeLine, report } from './report.ts';

const scale = createScale(true);

const comparison = (
  ours: readonly number[],
  peer: readonly number[],
  order: string[] = [],
): Comparison<undefined> => {
  const contender = (name: string, values: readonly number[]) => {
    const left = [...values];
    return async (): Promise<Figures> => {
      order.push(name);
      return { p50: left.shift()!, p95: 9 };
    };
  };
  return {
    name: 'a thing',
    rounds: 3,
    contenders: { ours: contender('ours', ours), peer: contender('peer', peer) },
    goals: [{ figure: 'p50', ratio: '<=', value: 1.2, of: 'peer' }],
  };
};

describe('percentile', () => {
  it('lies between the nearest ranks', () => {
    assert.equal(percentile([4, 1, 3, 2], 0.5), 2.5);
    assert.equal(percentile([10], 0.95), 10);
    assert.throws(() => percentile([], 0.5));
  });
});

describe('compare', () => {
  it('warms up, takes turns and answers the median of the ratios', async () => {
    const order: string[] = [];
    const [line] = await compare('s', comparison([99, 1, 2, 6], [1, 1, 1, 2], order), undefined, scale);
    assert.equal(order.join(' '), 'peer ours ours peer peer ours ours peer');
    assert.equal(line?.ratio.median, 2);
    assert.equal(line?.met, false);
    assert.equal(line?.ours.value, 2);
  });

  it('refuses a goal against nobody', async () => {
    const { goals, ...rest } = comparison([1, 1, 1, 1], [1, 1, 1, 1]);
    const wrong = { ...rest, goals: goals.map((goal) => ({ ...goal, of: 'nobody' })) };
    await assert.rejects(compare('s', wrong, undefined, scale), /no contender "nobody"/);
  });
});

describe('drive', () => {
  it('keeps no more calls in flight than it was told, and makes as many as it must', async () => {
    let now = 0;
    let most = 0;
    let made = 0;
    const figures = await drive(
      async () => {
        made++;
        most = Math.max(most, ++now);
        await new Promise(setImmediate);
        now--;
      },
      { inFlight: 8, ms: 0, atLeast: 20 },
    );
    assert.equal(most, 8);
    assert.ok(made >= 20 && made < 30);
    assert.ok(figures.rate! > 0);
  });

  it('ends with the failure of a call', async () => {
    const call = () => Promise.reject(new Error('no'));
    await assert.rejects(drive(call, { inFlight: 2, ms: 10 }), /no/);
  });
});

describe('report', () => {
  it('tells what was missed, in the summary and in its row', async () => {
    const lines = await compare('s', comparison([1, 2, 2, 2], [1, 1, 1, 1]), undefined, scale);
    const subject = {
      name: 's',
      about: 'About it.',
      comparisons: [],
      open: async () => {},
      close: async () => {},
    };
    const text = report({ subjects: [subject], lines, failed: [], seconds: 1, quick: false, load: 3 });
    assert.match(text, /\*\*0 of 1 goals met\.\*\* Missed: s, a thing \(p50 2\.00×, goal ≤ 1\.2×\)\./);
    assert.match(
      text,
      /\| a thing \| p50 \| 2\.00 ms \(p95 9\.00 ms\) \| peer \|.*\| ≤ 1\.2× \| \*\*missed\*\* \|/,
    );
    assert.match(text, /The machine was busy/);
    assert.match(describeLine(lines[0]!), /goal ≤ 1\.2×/);
  });
});
