// Owns: MCP over standard input and output: lines in, lines out, until the client hangs up.
// Refuses: to print anything else on standard output.
import { isUtf8 } from 'node:buffer';
import type { Runtime } from '../../contract/runtime.ts';
import type { Pieces } from './call-result.ts';
import { type ConnectionSite, createConnection } from './connection.ts';
import type { Input, Output } from './standard-pipes.ts';

export interface StdioServer {
  /** Resolves when the client hung up and every request was answered. */
  readonly ended: Promise<void>;
  toolsChanged(): void;
  /** Whether every request has its answer. */
  isSettled(): boolean;
}

export interface StdioSite extends Pick<ConnectionSite, 'view' | 'catalogue' | 'untrusted'> {
  readonly input: Input;
  readonly output: Output;
}

/** The longest line that is read. A longer one ends the connection: it cannot be answered, and it must not fill memory. */
const LONGEST_LINE = 128 * 1024 * 1024;

export function serveStdio(runtime: () => Promise<Runtime>, version: string, site: StdioSite): StdioServer {
  const { input, output, ...chosen } = site;
  let outbox: (string | Uint8Array)[] = [];
  const flush = () => {
    const pieces = outbox;
    outbox = [];
    writeAll(output, pieces);
  };
  const send = (message: Pieces) => {
    // Runs once the answers of this turn are all there: a group of calls that were recorded together leaves in one write.
    if (outbox.length === 0) process.nextTick(flush);
    outbox.push(...message, '\n');
  };
  const connection = createConnection({ runtime, version, send, ...chosen });

  const lines = createLineSplitter(LONGEST_LINE, (line) => {
    if (!isUtf8(line)) return connection.unreadable();
    const text = line.toString('utf8').trim();
    if (text !== '') connection.receive(text);
  });

  const ended = new Promise<void>((resolve) => {
    const end = () => connection.settled().then(() => setImmediate(() => resolve()));
    input.on('data', (chunk: Buffer) => {
      if (!lines(chunk)) input.destroy();
    });
    input.once('end', end);
    input.once('close', end);
    input.once('error', end);
    output.on('error', () => input.destroy());
  });
  return { ended, toolsChanged: connection.toolsChanged, isSettled: connection.isSettled };
}

/** Texts that follow each other leave as one; bytes leave as they are. */
function writeAll(output: Output, pieces: readonly (string | Uint8Array)[]): void {
  output.cork();
  let text: string[] = [];
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      text.push(piece);
      continue;
    }
    output.write(text.join(''));
    output.write(piece);
    text = [];
  }
  output.write(text.join(''));
  output.uncork();
}

/** Calls `onLine` for each line; answers false once a line is too long. */
function createLineSplitter(longest: number, onLine: (line: Buffer) => void): (chunk: Buffer) => boolean {
  let parts: Buffer[] = [];
  let held = 0;
  return (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const last = chunk.subarray(start, end);
      const line = held === 0 ? last : Buffer.concat([...parts, last]);
      parts = [];
      held = 0;
      start = end + 1;
      onLine(line);
    }
    if (start < chunk.length) {
      parts.push(chunk.subarray(start));
      held += chunk.length - start;
    }
    return held <= longest;
  };
}
