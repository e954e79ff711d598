// Owns: the proof that programs are shown the mounts that are there when they start, as every user that root can have.
// Refuses: to leave a mount behind.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { mountsBelow, parseMounts } from './inspect.ts';
import { identities, withSandbox } from './probes.ts';

const FILES = { 'sub/under.txt': 'under', 'sub/.env': 'UNDER', 'haft.yaml': 'version: 1\n' };

describe('the table of mounts', () => {
  it('is read with the names that it escapes, and with who may write', () => {
    const table =
      '30 27 0:25 / /a\\040b ro,nosuid - tmpfs t ro\n31 30 8:1 /x\\134y /a\\040b/c rw shared:1 - ext4 d rw\n';
    assert.deepEqual(parseMounts(table), [
      { id: '30', parent: '27', device: '0:25', root: '/', at: '/a b', writable: false },
      { id: '31', parent: '30', device: '8:1', root: '/x\\y', at: '/a b/c', writable: true },
    ]);
  });

  it('tells of a folder in which nothing is mounted only what it lies on, and of / more', async () => {
    await withSandbox({ files: FILES }, async ({ workspace }) => {
      assert.match(mountsBelow(workspace), /^\d+:\d+$/);
      assert.ok(mountsBelow('/').split('\n').length > 1, 'at least /proc');
    });
  });
});

/** Only root mounts. */
for (const identity of identities().filter((one) => one !== 'self')) {
  const own = (path: string) => identity === 'owner' && chownSync(path, 65534, 65534);
  /** A disk of its own at `path` while `use` lasts. */
  const mounted = async (path: string, use: () => Promise<void>): Promise<void> => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=755', 'haft-test', path]);
    try {
      own(path);
      for (const name of ['upper.txt', '.env']) {
        writeFileSync(join(path, name), name === '.env' ? 'SECRET' : 'upper');
        own(join(path, name));
      }
      await use();
    } finally {
      execFileSync('umount', ['-l', path]);
    }
  };
  const TRY = 'cat sub/*.txt sub/.env; echo new > sub/new.txt; echo evil > sub/.env; rm -f sub/.env';
  const hidden = { hidden: ['sub/.env'] };

  describe(`mounts (${identity})`, () => {
    it('shows what was mounted before the first program, and what is mounted and unmounted between two', async () => {
      await withSandbox({ identity, files: FILES }, async ({ sh, workspace }) => {
        const sub = join(workspace, 'sub');
        const holds = async (out: string) => {
          const ran = await sh(TRY, hidden);
          assert.equal(ran.refused, undefined);
          assert.equal(ran.out, out);
          assert.equal(readFileSync(join(sub, 'new.txt'), 'utf8'), 'new\n');
        };
        await mounted(sub, async () => {
          await holds('upper');
          // The second time its sandbox may have been laid out ahead.
          await holds('new\nupper');
          assert.equal(readFileSync(join(sub, '.env'), 'utf8'), 'SECRET');
        });
        assert.equal(existsSync(join(sub, 'new.txt')), false);
        await holds('under');
        await holds('new\nunder');
        await mounted(sub, async () => {
          await holds('upper');
          assert.equal(readFileSync(join(sub, '.env'), 'utf8'), 'SECRET');
        });
        await holds('new\nunder');
        assert.equal(readFileSync(join(sub, '.env'), 'utf8'), 'UNDER');
      });
    });

    it('shows a mount in which nothing is fenced, and mounts in it', async () => {
      await withSandbox({ identity, files: FILES }, async ({ sh, workspace }) => {
        const sub = join(workspace, 'sub');
        const deep = join(sub, 'deep');
        assert.equal((await sh('cat sub/*.txt')).out, 'under');
        await mounted(sub, async () => {
          mkdirSync(deep);
          own(deep);
          assert.equal((await sh('cat sub/*.txt')).out, 'upper');
          await mounted(deep, async () => {
            assert.equal((await sh('cat sub/deep/*.txt')).out, 'upper');
            assert.equal((await sh('echo 1 > sub/deep/made', { writable: [] })).refused, undefined);
            assert.equal(existsSync(join(deep, 'made')), false);
          });
          assert.equal((await sh('ls sub/deep')).out, '');
        });
        assert.equal((await sh('cat sub/*.txt')).out, 'under');
      });
    });

    it('shows what is mounted on the workspace itself, and on a folder beside it', async () => {
      await withSandbox({ identity, files: FILES }, async ({ sh, workspace }) => {
        assert.equal((await sh('cat sub/*.txt')).out, 'under');
        await mounted(workspace, async () => {
          const ran = await sh('cat *.txt .env; echo evil > .env; echo 1 > made', { hidden: ['.env'] });
          assert.equal(ran.refused, undefined);
          assert.equal(ran.out, 'upper');
          assert.equal(readFileSync(join(workspace, '.env'), 'utf8'), 'SECRET');
          assert.equal(existsSync(join(workspace, 'made')), true);
        });
        assert.equal(existsSync(join(workspace, 'made')), false);
        await withSandbox({ identity, files: FILES }, async (beside) => {
          const path = beside.workspace;
          const bind = { binds: [{ path, writable: true }], hidden: [join(path, 'sub/.env')] };
          const read = async () => (await sh(`cat '${path.replaceAll("'", `'\\''`)}'/sub/*.txt`, bind)).out;
          assert.equal(await read(), 'under');
          await mounted(join(path, 'sub'), async () => assert.equal(await read(), 'upper'));
          assert.equal(await read(), 'under');
        });
      });
    });

    it('tells what is mounted in a folder, and nothing that is covered or beside it', async () => {
      await withSandbox({ identity, files: FILES }, async ({ workspace }) => {
        const sub = join(workspace, 'sub');
        const before = mountsBelow(workspace);
        assert.equal(before.split('\n').length, 1);
        await mounted(sub, async () => {
          assert.equal(mountsBelow(workspace).split('\n').length, 2);
          assert.equal(mountsBelow(sub).split('\n').length, 1);
          await mounted(workspace, async () => assert.equal(mountsBelow(workspace).split('\n').length, 1));
        });
        assert.equal(mountsBelow(workspace), before);
      });
    });
  });
}
