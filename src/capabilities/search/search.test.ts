import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Effect } from '../../contract/effect.ts';
import type { SearchMatch } from '../../contract/search.ts';
import { createFsHandle } from '../fs/handle.ts';
import { type Arena, createArena, enginesHere } from './arena-for-tests.ts';
import { fill, MATCHES, REFUSED, SRC } from './cases-for-tests.ts';

/** `file:line:col snippet`, which is what most tests are about. */
const shown = (matches: readonly SearchMatch[]) =>
  matches.map(({ file, line, col, snippet }) => `${file}:${line}:${col} ${snippet}`);

const ENGINES = Object.entries(await enginesHere());

describe('search', () => {
  let home: Arena;
  before(() => {
    home = createArena(createFsHandle);
    fill(home);
  });
  after(() => home.close());

  it('has an engine that is bundled and one that is built in', () => {
    assert.ok(ENGINES.length >= 2);
  });

  for (const [name, engine] of ENGINES) {
    describe(`with ${name}`, () => {
      let arena: Arena;
      before(() => {
        arena = home.withEngine(engine);
      });

      for (const [what, query, found] of MATCHES) {
        it(`finds ${what}`, async () => {
          const { matches, truncated } = await arena.search(query);
          assert.deepEqual(shown(matches), found);
          assert.equal(truncated, false);
        });
      }

      for (const [what, query, reason] of REFUSED) {
        it(`refuses ${what}`, async () => {
          const failure = await arena.refuse(query);
          assert.equal(failure.reason, reason, failure.message);
          assert.ok(
            !failure.message.includes(arena.root) && !failure.message.includes('rg:'),
            failure.message,
          );
        });
      }

      it('answers only the first matches in order of paths, and says so', async () => {
        const { matches, truncated, warnings } = await arena.search({ glob: 'src/**', maxResults: 3 });
        assert.deepEqual(shown(matches), SRC.slice(0, 3));
        assert.equal(truncated, true);
        assert.ok(warnings.some(({ reason }) => reason === 'content.truncated'));
        const all = await arena.search({ glob: 'src/**', maxResults: SRC.length });
        assert.equal(all.truncated, false);
      });

      it('answers with lines around a match, also where they are matches themselves', async () => {
        const query = { glob: 'around.txt', contextBefore: 2, contextAfter: 1 };
        const { matches } = await arena.search(query);
        assert.deepEqual(
          matches.map(({ line, before, after }) => [line, before, after]),
          [
            [2, ['one'], ['hit three']],
            [3, ['one', 'hit two'], ['four']],
            [7, ['five', 'six'], []],
          ],
        );
      });

      it('answers with context on one side only', async () => {
        const { matches } = await arena.search({ glob: 'around.txt', contextAfter: 1 });
        assert.deepEqual(
          matches.map(({ before, after }) => [before, after]),
          [
            [undefined, ['hit three']],
            [undefined, ['four']],
            [undefined, []],
          ],
        );
      });

      it('finds matches over several lines, each with its lines', async () => {
        const query = { glob: 'multi.txt', pattern: 'a\\d\\nb', multiline: true };
        const { matches } = await arena.search(query);
        assert.deepEqual(matches, [
          { file: 'multi.txt', line: 1, col: 1, snippet: 'a1\nb1', endLine: 2 },
          { file: 'multi.txt', line: 3, col: 1, snippet: 'a2\nb2', endLine: 4 },
          { file: 'multi.txt', line: 7, col: 4, snippet: 'b3 a4\nb4', endLine: 8 },
        ]);
        const dotted = await arena.search({ glob: 'multi.txt', pattern: '(?s)xx.*b3', multiline: true });
        assert.deepEqual(shown(dotted.matches), ['multi.txt:5:1 xx\na3 a3b\nb3 a4']);
      });

      it('answers which files match, and how many lines of each', async () => {
        const counts = await arena.search({ glob: 'src/**', mode: 'count' });
        assert.deepEqual(counts.files, [
          { file: 'src/a-b.rs', count: 1 },
          { file: 'src/a.rs', count: 3 },
          { file: 'src/a/deep.rs', count: 1 },
          { file: 'src/b.ts', count: 1 },
        ]);
        assert.deepEqual(counts.matches, []);
        const first = await arena.search({ glob: 'src/**', mode: 'files', maxResults: 2 });
        assert.deepEqual(
          [first.files.map(({ file }) => file), first.truncated],
          [['src/a-b.rs', 'src/a.rs'], true],
        );
        const binary = await arena.search({ glob: 'binary/*', mode: 'files' });
        assert.deepEqual(binary.files, []);
      });

      it('shows what is not UTF-8 as it is, and says its bytes', async () => {
        const { matches } = await arena.search({ glob: 'odd/latin1.txt' });
        const bytes = Buffer.from('caf\xe9 hit', 'latin1').toString('base64');
        assert.deepEqual(matches, [
          { file: 'odd/latin1.txt', line: 1, col: 6, snippet: 'caf\ufffd hit', snippetBase64: bytes },
          { file: 'odd/latin1.txt', line: 2, col: 1, snippet: 'hit ü' },
        ]);
      });

      it('cuts long lines around the match, between characters', async () => {
        const { matches } = await arena.search({ glob: 'odd/long.txt', maxLineBytes: 40 });
        const [middle, end, beyond] = matches;
        assert.deepEqual([middle?.col, end?.col, beyond?.col], [3001, 3001, 200_001]);
        for (const match of [middle, end] as const) {
          assert.ok(Buffer.byteLength(match?.snippet ?? '') <= 40);
          const at = (match?.col ?? 0) - (match?.snippetCol ?? 0);
          assert.equal(Buffer.from(match?.snippet ?? '').toString('utf8', at, at + 3), 'hit');
        }
        assert.ok(!matches.some(({ snippet }) => snippet.includes('\ufffd') || snippet.includes('omitted')));
        // What lies beyond the part of a line that is looked at shows the line's beginning.
        assert.deepEqual([beyond?.snippetCol, beyond?.snippet], [1, 'y'.repeat(40)]);
        const whole = await arena.search({ glob: 'odd/long.txt', maxLineBytes: 65_536 });
        assert.deepEqual(
          whole.matches.map(({ snippet, snippetCol }) => [snippet.length, snippetCol]),
          [
            [3003, undefined],
            [1503, undefined],
            [65_536, 1],
          ],
        );
      });

      it('leaves out what policy hides', async () => {
        const denies = (effect: { kind: string; path?: string }) =>
          effect.path?.startsWith('src/a/') ?? false;
        const { matches } = await arena.search({ glob: 'src/**' }, { denies });
        assert.deepEqual(
          shown(matches),
          SRC.filter((line) => !line.startsWith('src/a/')),
        );
        const { files } = await arena.search({ glob: 'src/**', mode: 'files' }, { denies });
        assert.ok(!files.some(({ file }) => file.startsWith('src/a/')));
      });

      it('asks for the folder that the glob begins with, and for where a link leads', async () => {
        const { admitted } = await arena.search({ glob: 'src/**' });
        assert.deepEqual(admitted[0], { kind: 'fs.read', path: 'src', tree: true });
        const linked = await arena.search({ glob: 'link/*' });
        assert.deepEqual(linked.admitted.slice(0, 2), [
          { kind: 'fs.read', path: 'link', tree: true },
          { kind: 'fs.read', path: 'src', tree: true },
        ]);
        assert.deepEqual(shown(linked.matches)[0], 'link/a-b.rs:1:1 hit');
        const denies = (effect: Effect) => 'path' in effect && effect.path === 'src';
        assert.equal((await arena.refuse({ glob: 'link/*' }, { denies })).reason, 'policy.denied');
      });

      it('follows a link that begins the glob into a root beside the workspace', async () => {
        const extra = join(dirname(arena.root), 'beside');
        assert.equal((await arena.refuse({ glob: 'beside/*' })).reason, 'path.outside_workspace');
        const { matches } = await arena.search({ glob: 'beside/*' }, { extraRoots: [extra] });
        assert.deepEqual(shown(matches), ['beside/x.txt:1:1 hit beside']);
        const denies = (effect: Effect) => 'path' in effect && effect.path === `${extra}/x.txt`;
        const hidden = await arena.search({ glob: 'beside/*' }, { extraRoots: [extra], denies });
        assert.deepEqual(hidden.matches, []);
      });

      it('says where nothing was searched', async () => {
        const { matches, warnings } = await arena.search({ glob: 'missing/**' });
        assert.deepEqual(matches, []);
        assert.ok(warnings.some(({ reason }) => reason === 'path.not_found'));
      });

      it('ends when its call is aborted', async () => {
        const reason = new Error('enough');
        const query = arena.search({}, { signal: AbortSignal.abort(reason) });
        await assert.rejects(query, (thrown) => thrown === reason);
      });
    });
  }

  it('says of folders that it may not read how many there are', async () => {
    const arena = createArena(createFsHandle);
    try {
      arena.put('open/a.txt', 'hit');
      arena.put('closed/a.txt', 'hit');
      chmodSync(join(arena.root, 'closed'), 0);
      const { matches, warnings } = await arena.search({});
      // The administrator may read everything.
      const closed = process.getuid?.() === 0 ? 0 : 1;
      assert.equal(matches.length, 2 - closed);
      assert.equal(warnings.filter(({ reason }) => reason === 'path.denied_by_os').length, closed);
    } finally {
      chmodSync(join(arena.root, 'closed'), 0o755);
      arena.close();
    }
  });
});
