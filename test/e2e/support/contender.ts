// Owns: one of several processes that write the same files at the same time, and says what each call did.
// Refuses: to coordinate with the others in any way but through Haft.
// usage: contender.ts WORKSPACE NAME SECONDS FILES
import { createHash } from 'node:crypto';
import { createRuntime } from '../../../src/index.ts';
import { wholeText } from './writer.ts';

export interface ContenderReport {
  /** SHA-256 of every content that a call wrote, by path. */
  readonly written: Readonly<Record<string, readonly string[]>>;
  readonly calls: number;
  readonly failures: Readonly<Record<string, number>>;
  /** How often this process raised the shared counter. */
  readonly raised: number;
}

const COUNTER = 'counter.txt';
const IN_FLIGHT = 6;

async function main(workspace: string, name: string, seconds: number, files: number): Promise<void> {
  const runtime = await createRuntime({ workspace });
  const written: Record<string, string[]> = {};
  const failures: Record<string, number> = {};
  const end = performance.now() + seconds * 1000;
  let calls = 0;
  let raised = 0;

  const write = async (path: string, content: string): Promise<void> => {
    const { ok, errors } = await runtime.call({ tool: 'file_write', args: { path, content } });
    calls++;
    written[path] ??= [];
    if (ok) written[path].push(createHash('sha256').update(content).digest('hex'));
    else failures[errors[0]!.reason] = (failures[errors[0]!.reason] ?? 0) + 1;
  };

  /** Read, add one, write if nobody wrote since: an update is never lost. */
  const raise = async (): Promise<void> => {
    const read = await runtime.call({ tool: 'file_read', args: { path: COUNTER } });
    const { content, sha256 } = read.data as { content: string; sha256: string };
    const args = { path: COUNTER, content: `${Number(content) + 1}`, expected_sha256: sha256 };
    const { ok, errors } = await runtime.call({ tool: 'file_write', args });
    if (ok) raised++;
    else if (errors[0]!.reason !== 'file.conflict') failures[errors[0]!.reason] = 1;
  };

  const lane = async (lane: number): Promise<void> => {
    // On a busy machine the time alone may be over before anything contended.
    for (let n = 0; performance.now() < end || calls < files || raised === 0; n++) {
      if (n % 10 === 9) await raise();
      else await write(`shared/${(n * 7 + lane * 13) % files}.txt`, wholeText(`${name}-${lane}-${n}`));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => lane(i)));
  await runtime.close();
  const report: ContenderReport = { written, calls, failures, raised };
  process.stdout.write(JSON.stringify(report));
}

if (import.meta.main) {
  const [workspace = '.', name = '', seconds = '1', files = '50'] = process.argv.slice(2);
  await main(workspace, name, Number(seconds), Number(files));
}
