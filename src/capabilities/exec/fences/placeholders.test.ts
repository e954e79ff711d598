import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isAlive, processIdentity } from '../../../stores/process-identity.ts';
import { holdPlaceholders, sweepPlaceholders } from './placeholders.ts';

const names = { self: processIdentity(), isAlive };
const held = (root: string): string[] => {
  const folder = join(root, '.haft/placeholders');
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe('placeholders', () => {
  const withRoot = async (use: (root: string) => unknown) => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-placeholders-')));
    try {
      await use(root);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  };
  const wanting = (root: string, ...paths: string[]) => ({
    missing: paths.map((name) => ({ path: join(root, name), folder: name.endsWith('.d') })),
    present: [],
  });

  it('stay until the last holder lets go', () =>
    withRoot((root) => {
      const first = holdPlaceholders(root, wanting(root, 'x', 'n.d'), names);
      const second = holdPlaceholders(
        root,
        { missing: [], present: wanting(root, 'x', 'n.d').missing },
        names,
      );
      assert.deepEqual(second.paths.length, 2);
      first.release();
      assert.deepEqual(readdirSync(root).sort(), ['.haft', 'n.d', 'x']);
      second.release();
      assert.deepEqual(readdirSync(root), ['.haft']);
      assert.deepEqual(held(root), []);
    }));

  it('stay where somebody put something into them or in their place', () =>
    withRoot((root) => {
      const one = holdPlaceholders(root, wanting(root, 'written', 'replaced', 'filled.d', 'a/b/c'), names);
      writeFileSync(join(root, 'written'), 'mine');
      rmSync(join(root, 'replaced'));
      writeFileSync(join(root, 'aside'), '');
      writeFileSync(join(root, 'replaced'), '');
      writeFileSync(join(root, 'filled.d/x'), '');
      writeFileSync(join(root, 'a/mine'), '');
      one.release();
      assert.deepEqual(readdirSync(root).sort(), ['.haft', 'a', 'aside', 'filled.d', 'replaced', 'written']);
      assert.deepEqual(readdirSync(join(root, 'a')), ['mine']);
    }));

  it('are taken for what they are not, when something was there before', () =>
    withRoot((root) => {
      writeFileSync(join(root, 'empty'), '');
      const one = holdPlaceholders(root, wanting(root, 'empty', 'other'), names);
      assert.deepEqual(one.paths, [join(root, 'other')]);
      one.release();
      assert.deepEqual(readdirSync(root).sort(), ['.haft', 'empty']);
    }));

  it('of a process that was killed are removed by the next', () =>
    withRoot(async (root) => {
      mkdirSync(join(root, 'd'));
      const script = `
        import { holdPlaceholders } from ${JSON.stringify(join(import.meta.dirname, 'placeholders.ts'))};
        import { isAlive, processIdentity } from ${JSON.stringify(join(import.meta.dirname, '../../../stores/process-identity.ts'))};
        const missing = ['x', 'd/y/z'].map((name) => ({ path: ${JSON.stringify(root)} + '/' + name, folder: false }));
        holdPlaceholders(${JSON.stringify(root)}, { missing, present: [] }, { self: processIdentity(), isAlive });
        console.log('held');
        setInterval(() => {}, 1000);`;
      const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(child.stdout, 'data');
      assert.ok(existsSync(join(root, 'd/y/z')));
      sweepPlaceholders(root, names);
      assert.ok(existsSync(join(root, 'd/y/z')), 'a living one keeps its own');
      child.kill('SIGKILL');
      await once(child, 'exit');
      sweepPlaceholders(root, names);
      assert.deepEqual(readdirSync(root).sort(), ['.haft', 'd']);
      assert.deepEqual(readdirSync(join(root, 'd')), []);
      assert.deepEqual(held(root), []);
    }));
});
