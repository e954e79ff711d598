// Owns: bubblewrap as Haft starts it, without Haft: the words of a real run, read from /proc, started from here.
// Refuses: to know the profile. What is compared with is what was run.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { DefaultRuntime } from '../src/preset/default.ts';
import { timedEnvironment } from './processes.ts';
import { mustCall } from './product.ts';

/** Runs a program in a sandbox of its own and waits for its end. */
export type BareBwrap = (program: readonly string[]) => Promise<void>;

/** Policy must let `sleep` run. Its sandbox must not be closed while this is used: some words name its files. */
export async function bareBwrap(runtime: DefaultRuntime, workspace: string): Promise<BareBwrap> {
  const running = mustCall(runtime, 'shell_exec', { cmd: 'sleep 2' });
  let words: readonly string[] | undefined;
  while (!words) {
    await pause(10);
    words = findWords(workspace);
  }
  await running;
  const filter = /\S+\/share\//.exec(words.join(' '))?.[0];
  if (!filter) throw new Error('The filter of system calls was not found in the words of bubblewrap');
  const [bwrap = '', ...options] = adapted(words);
  const nowhere = openSync('/dev/null', 'r+');
  return (program) =>
    new Promise((resolve, reject) => {
      const fd = openSync(`${filter}seccomp`, 'r'); // it is read to its end, so each needs its own
      const child = spawn(bwrap, [...options, '--', ...program], {
        env: timedEnvironment(),
        stdio: ['ignore', 'pipe', 'pipe', fd, nowhere],
      });
      closeSync(fd);
      let complaint = '';
      child.stdout!.resume();
      child.stderr!.on('data', (chunk) => {
        complaint += chunk;
      });
      child.once('error', reject);
      child.once('close', (code) =>
        code === 0 ? resolve() : reject(new Error(`bwrap ended with ${code}: ${complaint}`)),
      );
    });
}

/** Everything before the program, of the bubblewrap whose program is `sleep`. */
function findWords(workspace: string): readonly string[] | undefined {
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const end = words.indexOf('--');
      if (/\/bwrap$/.test(words[0]!) && words.includes(workspace) && words.slice(end).includes('sleep 2'))
        return words.slice(0, end);
    } catch {
      // It has ended meanwhile.
    }
  }
  return undefined;
}

/** Descriptors as they are here. What Haft shows to the sandbox's user by a mount of its own is bound as it is. */
function adapted(words: readonly string[]): string[] {
  return words.map((word, at) => {
    if (words[at - 1] === '--seccomp') return '3';
    if (words[at - 1] === '--json-status-fd') return '4';
    return /\/haft-sandbox-[^/]+\/m\//.test(word) ? words[at + 1]! : word;
  });
}
