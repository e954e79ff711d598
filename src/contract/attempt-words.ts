// Owns: how the ends of attempts are said that every backend knows: one wording for each, whoever tells it.
// Refuses: what only one engine can say; that is in its own folder.
import { constants } from 'node:os';
import { errorLine } from '../base/error-line.ts';
import type { AttemptEnd } from './backend.ts';

export const ATTEMPT_WORDS = {
  exit: (code: number | null) => `The program ended with exit code ${code}`,
  signal: (name: string) => `The program was ended by ${name}`,
  cancelled: 'Cancelled the attempt',
  overTime: (wallMs: number) => `Ended the attempt: it ran longer than ${wallMs} ms`,
  overMemory: (bytes: number) => `Ended the attempt: it used up its ${bytes} bytes of memory`,
  overLog: 'Ended the attempt: it wrote more to standard output and error than is kept',
  killed: 'The attempt was killed from outside: by the engine, the machine or a person',
  notStarted: (program: string | undefined) =>
    `Cannot start the program: ${JSON.stringify(program ?? '')} is not there or cannot be executed`,
  diskFull: 'Cannot trust the attempt: the disk was full while it ran',
} as const;

/** What a shell's 128 + n stands for; undefined where that is no signal. */
export const signalOfCode = (code: number): string | undefined => SIGNALS.get(code - 128);

const SIGNALS: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals)
    // Two of them are other names of earlier ones.
    .filter(([name]) => name !== 'SIGIOT' && name !== 'SIGPOLL')
    .map(([name, number]) => [number, name] as const),
);

/** How much of standard error an end holds. */
export const STDERR_TAIL = Object.freeze({ lines: 20, bytes: 2048 });

/**
 * An end with the last lines of what the program wrote to standard error, where it is the program that failed or was ended;
 * the one that says why is in its message when the program ended by itself. `tail` is the end of that stream, of any length.
 */
export function withStderr(end: AttemptEnd, tail: Uint8Array): AttemptEnd {
  const isOfProgram = end.failure === 'tool' || end.failure === 'limit';
  // What could not be started said nothing; a shell may have.
  if (!isOfProgram || end.cause === 'tool.not_started') return end;
  const stderr = lastLines(tail);
  if (stderr === '') return end;
  const saysWhy = end.cause === 'tool.exit' || end.cause === 'tool.signal';
  return {
    ...end,
    ...(saysWhy ? { message: `${end.message}: ${shorten(errorLine(stderr) ?? '')}` } : {}),
    stderr,
  };
}

/** Colours and what else a terminal would obey is left out; a line whose beginning is cut off is one still. */
function lastLines(tail: Uint8Array): string {
  const text = new TextDecoder()
    .decode(tail)
    .replaceAll(ESCAPES, '')
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(CONTROLS, '');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.slice(-STDERR_TAIL.lines).join('\n').slice(-STDERR_TAIL.bytes).trim();
}

const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|.)/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

const MAX_LINE = 300;
const shorten = (line: string): string => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line);
