import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { type HealthState, judge, type Look, normaliseStatus, UNVERIFIED } from './create-health-monitor.ts';

type Status = Look['status'];

const after = (looks: readonly Status[], failureThreshold: number, successThreshold: number): HealthState =>
  looks.reduce<HealthState>(
    (state, status) => judge({ failureThreshold, successThreshold }, state, { status }),
    UNVERIFIED,
  );

/** g: a good look, b: a bad one, d: one that says degraded. Thresholds: three bad, two good. */
const ROWS: readonly (readonly [looks: string, status: HealthState['status'], recovering: boolean])[] = [
  ['', 'unverified', false],
  ['g', 'ready', false],
  ['b', 'degraded', false],
  ['bb', 'degraded', false],
  ['bbb', 'unhealthy', false],
  ['gbb', 'degraded', false],
  ['gbbg', 'ready', false],
  ['bbgbb', 'degraded', false],
  ['bbgbbb', 'unhealthy', false],
  ['bbbg', 'degraded', true],
  ['bbbgb', 'unhealthy', false],
  ['bbbgg', 'ready', false],
  ['bbbgbg', 'degraded', true],
  ['bbbggb', 'degraded', false],
  ['bbbggbbb', 'unhealthy', false],
  ['d', 'degraded', false],
  ['dddd', 'degraded', false],
  ['bbbd', 'degraded', true],
  ['bbbdd', 'degraded', false],
];
const WORDS: Readonly<Record<string, Status>> = { g: 'ready', b: 'unhealthy', d: 'degraded' };

describe('judge', () => {
  for (const [looks, status, recovering] of ROWS) {
    it(`says ${status}${recovering ? ', recovering,' : ''} after "${looks}"`, () => {
      const state = after(
        [...looks].map((one) => WORDS[one]!),
        3,
        2,
      );
      assert.deepEqual([state.status, state.recovering], [status, recovering]);
    });
  }

  it('is unhealthy exactly after enough bad looks in a row, and ready only after enough good ones', () => {
    const looks = fc.array(fc.constantFrom<Status>('ready', 'unhealthy'), { maxLength: 40 });
    const threshold = fc.integer({ min: 1, max: 5 });
    fc.assert(
      fc.property(looks, threshold, threshold, (seen, bad, good) => {
        const { status } = after(seen, bad, good);
        const row = trailing(seen);
        const wasDown = seen.some((_, at) => after(seen.slice(0, at + 1), bad, good).status === 'unhealthy');
        if (seen.at(-1) === 'unhealthy' && row >= bad) assert.equal(status, 'unhealthy');
        if (seen.at(-1) === 'ready') assert.notEqual(status, 'unhealthy');
        if (seen.at(-1) === 'ready' && row >= good) assert.equal(status, 'ready');
        if (!wasDown && seen.at(-1) === 'ready') assert.equal(status, 'ready');
      }),
    );
  });
});

const trailing = (seen: readonly Status[]): number =>
  seen.length - 1 - seen.findLastIndex((one) => one !== seen.at(-1));

describe('normaliseStatus', () => {
  it('knows common words, and takes none that it does not know for good news', () => {
    assert.equal(normaliseStatus(' OK '), 'ready');
    assert.equal(normaliseStatus('Pass'), 'ready');
    assert.equal(normaliseStatus('warn'), 'degraded');
    for (const word of ['', 'down', 'unverified', 'disabled', 'constructor', undefined, null, 1, {}])
      assert.equal(normaliseStatus(word), 'unhealthy', String(word));
  });
});
