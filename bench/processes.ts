// Owns: how timed processes are started: the same Node, the same environment, and ended when their time is over.
// Refuses: to let a setting of the machine that runs the benchmarks weigh on one side of them.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Settings that make every start of Node slower, or another Node of it. */
const UNWANTED = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE'];

export function timedEnvironment(): NodeJS.ProcessEnv {
  const env = { ...process.env };
  for (const name of UNWANTED) delete env[name];
  return env;
}

/** Milliseconds from the start of a process until it has ended and its output is read. */
export async function timeProcess(command: string, args: readonly string[], cwd?: string): Promise<number> {
  return (await runProcess(command, args, cwd)).ms;
}

export interface ProcessRun {
  readonly ms: number;
  readonly output: Buffer;
}

export function runProcess(command: string, args: readonly string[], cwd?: string): Promise<ProcessRun> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(command, args, {
      cwd,
      env: timedEnvironment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      const ms = performance.now() - start;
      if (code === 0) resolve({ ms, output: Buffer.concat(chunks) });
      else reject(new Error(`${command} ${args.join(' ')} ended with ${code}: ${Buffer.concat(chunks)}`));
    });
  });
}

/** Resident memory in MiB, once it has stopped changing (or after a few seconds of it). */
export async function settledRss(pid: number): Promise<number> {
  let last = rss(pid);
  for (let quiet = 0, looks = 0; quiet < 4 && looks < 24; looks++) {
    await new Promise((resolve) => setTimeout(resolve, 125));
    const now = rss(pid);
    quiet = Math.abs(now - last) < 0.1 ? quiet + 1 : 0;
    last = now;
  }
  return last;
}

function rss(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024;
}
