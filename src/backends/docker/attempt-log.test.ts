import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { keepLog, type LogStream, logFrames } from './attempt-log.ts';
import type { EngineApi } from './engine-api.ts';

describe('keepLog', () => {
  it('leaves the log alone that belongs to an end recorded meanwhile', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'haft-attempt-log-'));
    const files = { log: join(folder, 'log'), end: join(folder, 'end.json') };
    // As Podman answers while the container is being removed: no log at all, and no failure.
    const removing: Pick<EngineApi, 'stream'> = {
      async stream() {
        await writeFile(files.log, 'began\n');
        await writeFile(files.end, '{}');
        return 200;
      },
    };
    try {
      assert.equal(await keepLog(removing as EngineApi, 'name', files, 1000), undefined);
      assert.equal(await readFile(files.log, 'utf8'), 'began\n');
      assert.deepEqual((await readdir(folder)).sort(), ['end.json', 'log']);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

const frame = fc.tuple(fc.constantFrom<LogStream>('stdout', 'stderr'), fc.uint8Array({ maxLength: 40 }));

describe('logFrames', () => {
  it('hands on what was framed, however the socket cuts it', () => {
    fc.assert(
      fc.property(fc.array(frame), fc.array(fc.integer({ min: 1, max: 12 })), (frames, cuts) => {
        const heard = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
        const take = logFrames((stream, part) => {
          heard[stream] = Buffer.concat([heard[stream], part]);
        });
        let rest = Buffer.concat(frames.map(([stream, bytes]) => framed(stream, bytes)));
        for (let n = 0; rest.length > 0; n++) {
          const cut = cuts[n % Math.max(1, cuts.length)] ?? rest.length;
          take(rest.subarray(0, cut));
          rest = rest.subarray(cut);
        }
        for (const name of ['stdout', 'stderr'] as const) {
          const said = Buffer.concat(frames.filter(([stream]) => stream === name).map(([, bytes]) => bytes));
          assert.equal(Buffer.compare(heard[name], said), 0);
        }
      }),
    );
  });
});

function framed(stream: LogStream, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream === 'stderr' ? 2 : 1;
  head.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([head, bytes]);
}
