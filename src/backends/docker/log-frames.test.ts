import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { type LogStream, logFrames } from './log-frames.ts';

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
