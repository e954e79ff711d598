import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { foldersOf, sweepTemps } from '../sweep-temps.ts';

const HERE = import.meta.dirname;
const SIZE = 200_000;

/** Rewrites a file and a tree for ever, telling after each turn. */
const SCRIPT = `
  import { createFsHandle } from '${HERE}/../handle.ts';
  import { createTestScope } from '${HERE}/../scope-for-tests.ts';
  import { openObjectStore } from '${HERE}/../../../stores/objects/open-object-store.ts';
  const [ws, kept] = process.argv.slice(1);
  const objects = openObjectStore({ folder: kept, process: 'test' });
  const mutate = (edits) => createFsHandle(createTestScope(ws, objects)).mutate(edits);
  const write = (path, letter) => ({ op: 'write', path, bytes: Buffer.alloc(${SIZE}, letter), createDirs: true });
  const parent = process.ppid;
  for (let i = 0; process.ppid === parent; i++) {
    const letter = i % 2 ? 'a' : 'b';
    await mutate([write('f', letter), write('t/u/g', letter)]);
    process.stdout.write(letter);
    await mutate([{ op: 'delete', path: 't', recursive: true, force: true }]);
  }
`;

if (process.platform === 'linux') {
  describe('mutate', () => {
    it('leaves no half-written file when it is killed, and what it leaves can be swept', async () => {
      const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-crash-')));
      const ws = path.join(base, 'ws');
      fs.mkdirSync(ws);
      try {
        for (let turn = 0; turn < 6; turn++) {
          const args = ['--input-type=module', '-e', SCRIPT, ws, path.join(base, 'kept')];
          const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
          const ended = once(child, 'exit');
          // Killed at some point of a later turn, another one each time.
          for (let seen = 0; seen <= turn; seen++) await once(child.stdout, 'data');
          const until = performance.now() + turn * 0.7;
          while (performance.now() < until);
          child.kill('SIGKILL');
          await ended;
          const names = fs.readdirSync(ws, { recursive: true, withFileTypes: true });
          for (const entry of names) {
            if (
              !entry.isFile() ||
              entry.parentPath.includes('.haft-tmp-') ||
              entry.name.startsWith('.haft-tmp-')
            )
              continue;
            const text = fs.readFileSync(path.join(entry.parentPath, entry.name), 'latin1');
            assert.ok(text === 'a'.repeat(SIZE) || text === 'b'.repeat(SIZE), `${entry.name} is whole`);
          }
          await sweepTemps(ws, foldersOf(['f', 't/u/g']));
          const left = fs
            .readdirSync(ws, { recursive: true })
            .filter((name) => String(name).includes('.haft-tmp-'));
          assert.deepEqual(left, []);
        }
      } finally {
        fs.rmSync(base, { recursive: true, force: true });
      }
    });
  });
}
