// Owns: talking to `haft mcp` line by line, for what no proper client would send.
// Refuses: to interpret; lines go in as bytes, and answers come back as parsed JSON in the order in which they come.
import { createInterface } from 'node:readline';
import { startHaft } from '../e2e/support/haft.ts';

export interface Lines {
  send(line: string | Uint8Array): void;
  /** The next answer. */
  next(): Promise<Answer>;
  /** Hangs up; answers the exit code. */
  end(): Promise<number | null>;
}

export interface Answer {
  readonly id: string | number | null;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export function openLines(cwd: string): Lines {
  const child = startHaft(['mcp'], { cwd });
  child.stderr.resume();
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    send(line) {
      child.stdin.write(line);
      child.stdin.write('\n');
    },
    async next() {
      const { value, done } = await answers.next();
      if (done) throw new Error('the server hung up');
      return JSON.parse(value);
    },
    end() {
      child.stdin.end();
      return closed;
    },
  };
}
