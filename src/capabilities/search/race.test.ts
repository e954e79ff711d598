import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Swapper, startSwapper } from '../../../test/e2e/support/swapper.ts';
import { isFailure } from '../../contract/errors.ts';
import type { SearchQuery } from '../../contract/search.ts';
import { createFsHandle } from '../fs/handle.ts';
import { type Arena, createArena, type Searched } from './arena-for-tests.ts';

/** Enough that a search without a guard shows the outside in almost every run of this test. */
const SEARCHES = 60;

describe('search while links are swapped in', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  let arena: Arena;
  let swapper: Swapper;

  before(async () => {
    arena = createArena(createFsHandle);
    const outside = join(dirname(arena.root), 'outside');
    for (const name of ['d/f0', 'd/f1', 'd/f2', 'top/mid/d/f0', 'top/mid/d/f1']) {
      arena.put(name, 'hit inside\n');
      for (const path of [join(outside, name), join(outside, name.replace('top/', ''))]) {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, 'hit SENTINEL\nhit SENTINEL\n');
      }
    }
    for (const path of ['d/only-outside', 'mid/d/only-outside'])
      writeFileSync(join(outside, path), 'hit SENTINEL\n');
    for (let i = 0; i < 50; i++) arena.put(`steady/f${i}`, 'hit inside\n');
    swapper = await startSwapper(arena.root, outside);
  });
  after(async () => {
    assert.ok((await swapper.stop()) > 100, 'nothing was raced');
    arena.close();
  });

  const searches = async (query: Partial<SearchQuery>): Promise<Searched[]> => {
    const answers: Searched[] = [];
    for (let i = 0; i < SEARCHES; i++) {
      const answer = await arena.search(query).catch((thrown: unknown) => {
        if (isFailure(thrown) && /^path\./.test(thrown.reason)) return undefined;
        throw thrown;
      });
      if (answer) answers.push(answer);
    }
    assert.ok(answers.length > 0);
    return answers;
  };

  it('shows nothing of where they lead, and everything that is steady', async () => {
    for (const query of [{ contextAfter: 1 }, {}]) {
      for (const { matches } of await searches(query)) {
        assert.ok(!JSON.stringify(matches).includes('SENTINEL'));
        assert.equal(matches.filter(({ file }) => file.startsWith('steady/')).length, 50);
      }
    }
  });

  it('does not tell which files out there match, or how often', async () => {
    for (const { files } of await searches({ mode: 'count' })) {
      assert.deepEqual(
        files.filter(({ count, file }) => count !== 1 || file.endsWith('only-outside')),
        [],
      );
    }
    for (const { files } of await searches({ mode: 'files', pattern: 'SENTINEL' }))
      assert.deepEqual(files, []);
  });

  it('refuses or finds nothing where the folder to begin in is swapped', async () => {
    for (const { matches } of await searches({ glob: 'd/**' })) {
      assert.ok(!JSON.stringify(matches).includes('SENTINEL'));
    }
  });
});
