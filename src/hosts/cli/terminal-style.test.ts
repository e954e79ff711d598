import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cut, fitTable, localTime, paintDiff, painter, wantsColour, widthOf } from './terminal-style.ts';

const plain = painter(false);

describe('wantsColour', () => {
  const CASES: readonly (readonly [
    flag: string | undefined,
    tty: boolean,
    env: NodeJS.ProcessEnv,
    is: boolean,
  ])[] = [
    [undefined, true, {}, true],
    [undefined, false, {}, false],
    [undefined, true, { NO_COLOR: '1' }, false],
    [undefined, true, { NO_COLOR: '' }, true],
    [undefined, true, { TERM: 'dumb' }, false],
    [undefined, false, { FORCE_COLOR: '1' }, true],
    [undefined, true, { FORCE_COLOR: '0' }, false],
    [undefined, false, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    ['auto', true, {}, true],
    ['always', false, { NO_COLOR: '1' }, true],
    ['never', true, { FORCE_COLOR: '1' }, false],
  ];
  for (const [flag, tty, env, is] of CASES)
    it(`${is} for --color ${flag}, terminal ${tty}, ${JSON.stringify(env)}`, () =>
      assert.equal(wantsColour(flag, tty, env), is));
});

describe('fitTable', () => {
  const ID = 'call_0123456789abcdefghij';

  it('cuts the widest cells where the screen is too narrow, and never an id', () => {
    const rows = [
      [ID, 'x'.repeat(60), 'ok'],
      [ID, 'short', 'denied'],
    ];
    const lines = fitTable(rows, ['CALL', 'WHAT', 'STATE'], { paint: plain, columns: 60 })
      .trimEnd()
      .split('\n');
    assert.ok(
      lines.every((line) => widthOf(line) <= 60),
      lines.join('\n'),
    );
    assert.ok(lines[1]!.startsWith(`${ID}  xxx`));
    assert.match(lines[1]!, /x…\s+ok$/);
    assert.match(lines[2]!, /short\s+denied$/);
  });

  it('leaves everything whole without a width', () => {
    const long = 'y'.repeat(300);
    assert.ok(fitTable([[long, 'z']], undefined, { paint: plain, columns: undefined }).includes(long));
  });

  it('lines columns up by what they take on the screen', () => {
    const shown = fitTable(
      [
        ['日本', 'a'],
        ['abcd', 'b'],
        ['e\u0301', 'c'],
      ],
      undefined,
      { paint: plain, columns: 80 },
    );
    assert.deepEqual(
      shown
        .trimEnd()
        .split('\n')
        .map((line) => widthOf(line)),
      [7, 7, 7],
    );
  });

  it('paints states, and lets no cell paint itself', () => {
    const shown = fitTable([['a\u001b[31mb\r\nc', 'ok']], ['NAME', 'STATE'], {
      paint: painter(true),
      columns: 80,
    });
    assert.ok(shown.includes('a\\u001b[31mb\\u000d\\u000ac'), shown);
    assert.ok(shown.includes('\u001b[32mok\u001b[0m'), shown);
  });
});

describe('cut', () => {
  it('marks what is missing, and splits no character', () => {
    assert.equal(cut('abcdef', 6), 'abcdef');
    assert.equal(cut('abcdef', 4), 'abc…');
    assert.equal(cut('日本語', 4), '日…');
  });
});

describe('paintDiff', () => {
  it('colours additions and removals, and makes the rest harmless', () => {
    assert.equal(
      paintDiff('@@ -1 +1 @@\n-a\n+b\u001b[2J\n c', painter(true)),
      '\u001b[36m@@ -1 +1 @@\u001b[0m\n\u001b[31m-a\u001b[0m\n\u001b[32m+b\\u001b[2J\u001b[0m\n c',
    );
  });
});

describe('localTime', () => {
  it('is what the clock on the wall shows', () => {
    const at = new Date(2026, 10, 8, 5, 4, 3).getTime();
    assert.equal(localTime(at), '2026-11-08 05:04:03');
    assert.equal(localTime(at, at + 3_600_000), '05:04:03');
    assert.equal(localTime(at, at + 24 * 3_600_000), '2026-11-08 05:04:03');
  });
});
