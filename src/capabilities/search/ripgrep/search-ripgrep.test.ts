import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createFsHandle } from '../../fs/handle.ts';
import { type Arena, createArena, enginesHere } from '../arena-for-tests.ts';

const FILES = 40;
const LINES = 1600;
const PAD = 'x'.repeat(500);

/** 64,000 matching lines, 32 MB: more than is read to its end when few are asked for. */
const line = (file: number, n: number) => `hit ${file}.${n} ${PAD}`;
const nameOf = (file: number) => `many/${file % 7}/f-${String(file).padStart(2, '0')}.txt`;

describe('searchRipgrep', async () => {
  const { ripgrep = '' } = await enginesHere();
  let arena: Arena;
  before(() => {
    arena = createArena(createFsHandle).withEngine(ripgrep);
    for (let file = 0; file < FILES; file++) {
      const lines = Array.from({ length: LINES }, (_, n) => line(file, n));
      arena.put(nameOf(file), `${lines.join('\n')}\n`);
    }
  });
  after(() => arena.close());

  const expected = Array.from({ length: FILES }, (_, file) => file)
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    .flatMap((file) =>
      Array.from({ length: LINES }, (_, n) => ({ file: nameOf(file), line: n + 1, snippet: line(file, n) })),
    );
  const plain = ({ file, line, snippet }: { file: string; line: number; snippet: string }) => ({
    file,
    line,
    snippet,
  });

  for (const maxResults of [1, 50, 1600, 4000, 16_100]) {
    it(`answers the first ${maxResults} in order where there are far more`, async () => {
      const { matches, truncated } = await arena.search({ maxResults });
      assert.deepEqual(matches.map(plain), expected.slice(0, maxResults));
      assert.equal(truncated, true);
    });
  }

  it('answers the same with context', async () => {
    const { matches, truncated } = await arena.search({ maxResults: 1601, contextBefore: 1 });
    assert.deepEqual(matches.map(plain), expected.slice(0, 1601));
    assert.deepEqual(matches[0]?.before, []);
    assert.deepEqual(matches[1]?.before, [expected[0]?.snippet]);
    assert.equal(truncated, true);
  });

  it('stops where the answer would be too large, and says so', async () => {
    const { matches, truncated, warnings } = await arena.search({ maxResults: 100_000 });
    assert.deepEqual(matches.map(plain), expected.slice(0, matches.length));
    assert.ok(matches.length > 40_000 && matches.length < expected.length);
    assert.equal(truncated, true);
    assert.match(warnings[0]?.message ?? '', /too large/);
  });

  it('counts them all', async () => {
    const { files, truncated } = await arena.search({ mode: 'count' });
    assert.deepEqual(
      [files.length, files.every(({ count }) => count === LINES), truncated],
      [FILES, true, false],
    );
  });

  it('leaves nothing behind when it is aborted on the way', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const running = arena.search({ maxResults: 100_000 }, { signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await assert.rejects(running, (thrown) => thrown === reason);
    const { matches } = await arena.search({ maxResults: 1 });
    assert.equal(matches.length, 1);
  });
});
