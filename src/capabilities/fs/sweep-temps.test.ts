import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createTempNames, hasTempName, isTempName, makerOf } from './root.ts';
import { foldersOf, sweepTemps } from './sweep-temps.ts';

describe('createTempNames', () => {
  it('makes names that are recognised, and never twice', () => {
    const [one, other] = [createTempNames(), createTempNames()];
    const names = [one(), one(), other(), other()];
    assert.equal(new Set(names).size, 4);
    assert.ok(names.every(isTempName));
    assert.ok(hasTempName(`a/${names[0]}/b`));
    assert.equal(hasTempName('a/x.haft-tmp-1/b'), false);
  });
});

if (process.platform === 'linux') {
  describe('sweepTemps', () => {
    let base: string;
    beforeEach(() => {
      base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-sweep-')));
      fs.mkdirSync(path.join(base, 'a/b'), { recursive: true });
    });
    afterEach(() => fs.rmSync(base, { recursive: true, force: true }));

    /** A name that a process made which has ended by now. */
    async function nameOfDead(): Promise<string> {
      const child = spawn('sleep', ['60'], { stdio: 'ignore' });
      await once(child, 'spawn');
      const name = createTempNames(child.pid)();
      assert.equal(makerOf(name), 'alive');
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      assert.equal(makerOf(name), 'dead');
      return name;
    }

    it('removes what the dead left, trees too, and nothing else', async () => {
      const dead = await nameOfDead();
      const alive = createTempNames()();
      fs.writeFileSync(path.join(base, 'a/b', dead), '');
      fs.writeFileSync(path.join(base, 'a/b', alive), '');
      fs.writeFileSync(path.join(base, 'a/b/mine'), '');
      fs.mkdirSync(path.join(base, dead, 'x/y'), { recursive: true });
      fs.writeFileSync(path.join(base, dead, 'x/y/z'), '');
      fs.writeFileSync(path.join(base, 'kept'), 'kept');
      fs.symlinkSync('../../kept', path.join(base, dead, 'x/link'));
      assert.equal(await sweepTemps(base, foldersOf(['a/b/mine', 'a/gone/c'])), 2);
      assert.deepEqual(fs.readdirSync(path.join(base, 'a/b')).sort(), [alive, 'mine'].sort());
      assert.deepEqual(fs.readdirSync(base).sort(), ['a', 'kept']);
    });

    it('leaves what it cannot judge for a day', async () => {
      const name = '.haft-tmp-1-2-3-0-abc';
      fs.writeFileSync(path.join(base, name), '');
      assert.equal(makerOf(name), 'unknown');
      assert.equal(await sweepTemps(base, ['.']), 0);
      assert.equal(await sweepTemps(base, ['.'], Date.now() + 25 * 60 * 60 * 1000), 1);
    });

    it('names the folders above every path', () => {
      assert.deepEqual([...foldersOf(['a/b/c', 'd'])], ['.', 'a/b', 'a']);
    });
  });
}
