import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createFsHandle } from './handle.ts';
import { createTestScope } from './scope-for-tests.ts';

const READS = Number(process.env.HAFT_RACE_READS ?? 3000);
const WRITES = Number(process.env.HAFT_RACE_WRITES ?? 500);

/** Swaps a folder, a file and a folder further up for links to the outside and back, as fast as it can. */
const SWAPPER = `
  const fs = require('node:fs');
  const [ws, outside] = process.argv.slice(1);
  const swap = (name, target) => {
    try { fs.renameSync(ws + '/' + name, ws + '/' + name + '.real'); } catch {}
    try { fs.symlinkSync(target, ws + '/' + name); } catch {}
  };
  const back = (name) => {
    try { fs.unlinkSync(ws + '/' + name); } catch {}
    try { fs.renameSync(ws + '/' + name + '.real', ws + '/' + name); } catch {}
  };
  process.on('SIGTERM', () => process.exit(0));
  console.log('swapping');
  const parent = process.ppid;
  const turn = () => {
    for (let i = 0; i < 200; i++) {
      swap('d', outside + '/d'); back('d');
      swap('d/f', outside + '/d/f'); back('d/f');
      swap('top/mid', '../../outside'); back('top/mid');
      swap('d/f', '/proc/self/root' + outside + '/d/f'); back('d/f');
    }
    if (process.ppid === parent) setImmediate(turn);
  };
  turn();
`;

if (process.platform === 'linux') {
  describe('ctx.fs while links are swapped', () => {
    let base: string;
    let ws: string;
    let swapper: ChildProcess;

    before(async () => {
      base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-race-')));
      ws = path.join(base, 'ws');
      for (const [folder, text] of [
        [ws, 'inside'],
        [path.join(base, 'outside'), 'OUTSIDE'],
      ] as const) {
        fs.mkdirSync(path.join(folder, 'd'), { recursive: true });
        fs.writeFileSync(path.join(folder, 'd/f'), text);
      }
      fs.mkdirSync(path.join(ws, 'top/mid/d'), { recursive: true });
      fs.writeFileSync(path.join(ws, 'top/mid/d/f'), 'inside');
      swapper = spawn(process.execPath, ['-e', SWAPPER, ws, path.join(base, 'outside')], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(swapper.stdout!, 'data');
    });

    after(async () => {
      const ended = once(swapper, 'exit');
      swapper.kill('SIGKILL');
      await ended;
      fs.rmSync(base, { recursive: true, force: true });
    });

    const handle = () => {
      const objects = openObjectStore({ folder: path.join(base, 'objects'), process: 'test' });
      return createFsHandle(createTestScope(ws, objects, { undo: { keep: false, maxBytes: 0 } }));
    };

    const tally = (counts: Record<string, number>, outcome: string) => {
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    };
    const reasonOf = (thrown: unknown) => (thrown as { reason?: string }).reason ?? String(thrown);

    /** What a swapped path may end in; anything else is a fault. */
    const FAIR =
      /^(path\.(outside_workspace|not_found|raced|not_directory|not_regular|exists)|file\.conflict)$/;

    it(`reads nothing outside in ${READS} reads`, async (t) => {
      const { read } = handle();
      const counts: Record<string, number> = {};
      for (let i = 0; i < READS; i++) {
        try {
          const file = await read(i % 2 ? 'd/f' : 'top/mid/d/f');
          tally(counts, Buffer.from(file.bytes).toString());
        } catch (thrown) {
          tally(counts, reasonOf(thrown));
        }
      }
      t.diagnostic(JSON.stringify(counts));
      assert.equal(counts.OUTSIDE, undefined);
      for (const outcome of Object.keys(counts)) if (outcome !== 'inside') assert.match(outcome, FAIR);
      assert.ok(counts.inside, 'some reads succeed');
      assert.ok(counts['path.outside_workspace'], 'some reads meet a link');
    });

    it(`writes nothing outside in ${WRITES} writes`, async (t) => {
      const { mutate } = handle();
      const counts: Record<string, number> = {};
      const one = async (i: number) => {
        const name = ['d/f', 'd/new', 'top/mid/d/f', 'd/sub/deep'][i % 4]!;
        try {
          await mutate([{ op: 'write', path: name, bytes: Buffer.from('inside'), createDirs: true }]);
          tally(counts, 'written');
        } catch (thrown) {
          tally(counts, reasonOf(thrown));
        }
      };
      for (let i = 0; i < WRITES; i += 8) await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((k) => one(i + k)));
      t.diagnostic(JSON.stringify(counts));
      for (const outcome of Object.keys(counts)) if (outcome !== 'written') assert.match(outcome, FAIR);
      assert.ok(counts.written, 'some writes succeed');
      assert.deepEqual(fs.readdirSync(path.join(base, 'outside'), { recursive: true }).sort(), ['d', 'd/f']);
      assert.equal(fs.readFileSync(path.join(base, 'outside/d/f'), 'utf8'), 'OUTSIDE');
    });

    it('lists nothing outside', async () => {
      fs.writeFileSync(path.join(base, 'outside/d/secret'), 'OUTSIDE');
      const { list } = handle();
      const query = { glob: '**', maxResults: 1000, includeHidden: true, includeIgnored: true };
      for (let i = 0; i < READS / 30; i++) {
        const { files } = await list(query);
        assert.deepEqual(
          files.filter((file) => file.includes('secret')),
          [],
        );
      }
    });
  });
}
