// Owns: a process that streams mutating calls and says, for each, that it was answered; the tests kill it.
// Refuses: to buffer an acknowledgement: the line is written before the next call starts.
// usage: writer.ts WORKSPACE SEED IN_FLIGHT CALLS
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { createRuntime, type JsonObject } from '../../../src/index.ts';

const [workspace = '.', seed = '0', inFlight = '8', calls = '1000000'] = process.argv.slice(2);

/** A text that proves by itself that it is whole. */
export function wholeText(tag: string): string {
  const body = `${tag}\n${tag.repeat(50)}\n`;
  return `${createHash('sha256').update(body).digest('hex')}\n${body}`;
}

async function main(): Promise<void> {
  const runtime = await createRuntime({ workspace });
  say({ ready: true, in_flight: runtime.startup.inFlight.map((row) => row.callId) });
  let next = 0;
  const lane = async (lane: number) => {
    while (next < Number(calls)) {
      const n = next++;
      const [tool, args] = plan(lane, n);
      const { ok, callId, errors } = await runtime.call({ tool, args });
      say({
        ok,
        call_id: callId,
        tool,
        path: args.path ?? args.dst,
        reason: errors[0]?.reason,
        content: ok ? args.content : undefined,
      });
    }
  };
  await Promise.all(Array.from({ length: Number(inFlight) }, (_, i) => lane(i)));
  await runtime.close();
  say({ done: true });
}

/** Mostly writes, over files that are there and files that are not; now and then the other tools. */
function plan(lane: number, n: number): [string, JsonObject] {
  const tag = `${seed}-${lane}-${n}`;
  const path = `f/${(n * 7 + lane) % 40}.txt`;
  if (n % 11 === 5) return ['fs_copy', { src: path, dst: `c/${n % 9}.txt`, overwrite: true }];
  if (n % 13 === 6) return ['fs_move', { src: path, dst: `m/${n % 9}.txt`, overwrite: true }];
  if (n % 17 === 7) return ['fs_delete', { path, force: true }];
  // A folder that surely is not there yet.
  if (n % 9 === 1) return ['file_write', { path: `n/${tag}/new.txt`, content: wholeText(tag) }];
  return ['file_write', { path, content: wholeText(tag) }];
}

const say = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`);

if (import.meta.main) await main();
