// Owns: a program that answers each line with a line, asked with as little in between as can be.
// Refuses: several questions at once: answers come in the order of the questions, and one is asked at a time.
import { spawn } from 'node:child_process';
import { timedEnvironment } from './processes.ts';

export interface LinePeer {
  ask(message: object): Promise<unknown>;
  close(): Promise<void>;
}

export function openLinePeer(command: string, args: readonly string[]): LinePeer {
  const child = spawn(command, args, { env: timedEnvironment(), stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let rest = '';
  let answered: ((line: string) => void) | undefined;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    rest += chunk;
    const end = rest.indexOf('\n');
    if (end === -1) return;
    const line = rest.slice(0, end);
    rest = rest.slice(end + 1);
    answered?.(line);
  });
  return {
    ask: (message) =>
      new Promise((resolve) => {
        answered = (line) => resolve(JSON.parse(line));
        child.stdin.write(`${JSON.stringify(message)}\n`);
      }),
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}
