// Owns: what tests of adapters share: invocations, handles, and ending a program from outside as a crash would.
// Refuses: to end a process that does not carry the test's own marker.
import { readdirSync, readFileSync } from 'node:fs';
import type { CallHandles, Invocation } from '../contract/adapter.ts';
import type { ExecHandle } from '../contract/exec.ts';
import type { HttpHandle } from '../contract/http.ts';
import type { Scheduler } from './scheduler.ts';

export function invocationOf(tool: string, args: unknown, rest: Partial<Invocation> = {}): Invocation {
  return {
    tool,
    args,
    callId: 'call_test',
    signal: new AbortController().signal,
    progress() {},
    ...rest,
  };
}

/** Handles of an installation on a throw-away workspace. Without a network unless one is given. */
export const handlesOn = (fixture: { call(): ExecHandle }, http?: HttpHandle): (() => CallHandles) => {
  const none: HttpHandle = { request: () => Promise.reject(new Error('no network in this test')) };
  return () => ({ exec: fixture.call(), http: http ?? none });
};

/** The process ids of programs whose name and arguments hold these texts. */
export function runningPrograms(name: string, marker: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      if (!pid || pid === process.pid) return false;
      try {
        const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return program.endsWith(name) && args.some((word) => word.includes(marker));
      } catch {
        return false; // it has ended meanwhile
      }
    });
}

export function crashPrograms(name: string, marker: string): void {
  for (const pid of runningPrograms(name, marker)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Time that passes only when something sleeps, and chance that is always the same. */
export function stillPace(random = 0.5): Scheduler & { readonly slept: number[]; advance(ms: number): void } {
  let now = 0;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    random: () => random,
    advance(ms) {
      now += ms;
    },
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      slept.push(ms);
      now += ms;
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
  };
}
