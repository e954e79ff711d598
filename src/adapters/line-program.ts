// Owns: a contained program that speaks JSON lines on stdin and stdout: reading lines, sending messages, and its last words once it ends.
// Refuses: to understand the messages, and to start the program again; `link.ts` does.
import { AROUND_ERRORS, TELLS_ERROR } from '../base/error-line.ts';
import type { Redactor } from '../base/redact/create-redactor.ts';
import { isSecretKey } from '../base/redact/secret-keys.ts';
import { spillBytes } from '../contract/adapter.ts';
import { fail } from '../contract/errors.ts';
import type { Json } from '../contract/json.ts';
import type { Installation } from '../contract/manifest.ts';
import type { Program, ProgramHandle, StandingProgram } from '../contract/program.ts';
import type { SandboxResult } from '../contract/sandbox.ts';
import { markUnsent } from './attempts.ts';

export interface LineProgram {
  /** Throws where the program is gone: then nothing has left. Otherwise it may have. */
  send(message: Json): void;
  readonly gone: boolean;
  /** Why it was ended from here. */
  readonly fault: string | undefined;
  /** Settles when the program and all that it started are gone. Never rejects. */
  readonly ended: Promise<SandboxResult>;
  /** Ends it at once, for what it did. */
  end(fault: string): void;
  /** Ends its input, which asks it to end, and makes sure of it after `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

/** Where what a server says beside its messages is kept, for a person. */
export interface ServerLog {
  /** Pending while it says more than can be kept. */
  said(chunk: Uint8Array): void | Promise<void>;
  note(text: string): void;
}

/** By server, with the variables that it is started with: some are secrets. */
export type LogFor = (installation: Installation, env: Program['env']) => ServerLog;

export interface LineProgramEvents extends Pick<LineEvents, 'oversize' | 'overrun'> {
  message(message: unknown): void;
  /** Of the secrets that the program was given. */
  readonly redactor?: Redactor | undefined;
  /** A line that is not JSON. */
  noise(): void;
  /** Told once, before `ended` settles: nothing comes any more. */
  gone(): void;
}

const GRACE_MS = 2_000;
/** So much between two messages that is none, and it is no server. */
const NOISE_BYTES = 1024 * 1024;
/** A line so many times over its bound, and longer than is kept of one, has no end. */
const ENDLESS = 4;

export async function startLineProgram(
  exec: ProgramHandle,
  program: Program,
  maxLineBytes: number,
  events: LineProgramEvents,
  log?: ServerLog,
): Promise<LineProgram> {
  const said = log && ((chunk: Uint8Array) => log.said(chunk));
  const standing = await exec.start(program, undefined, said).catch((thrown) => {
    throw markUnsent(thrown);
  });
  log?.note(`started: ${program.argv.join(' ').slice(0, 300)}`);
  void standing.result.then(({ code, signal, limitHit }) => {
    const how = limitHit
      ? `reached its limit of ${limitHit}`
      : signal
        ? `was ended by ${signal}`
        : `ended with code ${code}`;
    log?.note(how);
  });
  return speakLines(standing, maxLineBytes, events);
}

export function speakLines(
  standing: StandingProgram,
  maxLineBytes: number,
  events: LineProgramEvents,
): LineProgram {
  const { stdin, stdout, result } = standing;
  let gone = false;
  let noise = 0;
  let fault: string | undefined;
  const lose = () => {
    if (gone) return;
    gone = true;
    events.gone();
  };
  const endNow = () => {
    lose();
    stdout.destroy();
    void standing.stop(0);
  };
  const reader = createLineReader(maxLineBytes, {
    oversize: events.oversize,
    overrun(length, head, piece) {
      const keeping = events.overrun?.(length, head, piece);
      // It may go on for ever, and reading it away has a price, too.
      if (length <= Math.max(ENDLESS * maxLineBytes, spillBytes(0)) || gone) return keeping;
      fault ??= `it was ended, because it wrote a line of more than ${length} bytes, and no end of it`;
      events.oversize(length, head, '');
      endNow();
      return undefined;
    },
    line(bytes) {
      const message = parse(bytes);
      if (gone) return;
      if (message !== undefined) {
        noise = 0;
        return events.message(message.value);
      }
      events.noise();
      noise += bytes.length + 1;
      if (noise <= NOISE_BYTES) return;
      const text = bytes.toString('utf8', 0, KEPT_LENGTH);
      const shown = (events.redactor?.text(text) ?? text).slice(0, 40).replace(/\p{Cc}/gu, ' ');
      fault = `it floods its standard output with what is no message ("${shown}")`;
      endNow();
    },
  });
  stdin.on('error', lose);
  stdout.on('error', lose);
  stdout.on('data', (chunk: Buffer) => {
    const keeping = reader.push(chunk);
    if (!keeping) return;
    stdout.pause();
    const resume = () => void stdout.resume();
    keeping.then(resume, resume);
  });
  // A program that has closed its stdout will answer nothing more.
  stdout.on('close', lose);
  void result.then(lose);
  return {
    send(message) {
      if (gone) throw markUnsent(fail('call.outcome_unknown', 'Cannot send: the program has ended'));
      stdin.write(`${JSON.stringify(message)}\n`);
    },
    get gone() {
      return gone;
    },
    get fault() {
      return fault;
    },
    ended: result,
    end(why) {
      fault ??= why;
      endNow();
    },
    async stop(graceMs = GRACE_MS) {
      stdin.end();
      // Whoever does not wait does not listen either: what is still on its way would only have to be read.
      if (graceMs === 0) stdout.destroy();
      const timer = setTimeout(() => void standing.stop(), graceMs);
      await result;
      clearTimeout(timer);
    },
  };
}

/** Blank lines are no noise, but no message either; they read as an empty object that nobody knows. */
function parse(bytes: Buffer): { readonly value: unknown } | undefined {
  const text = bytes.toString().trim();
  if (text === '') return { value: {} };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

const MESSAGE_LENGTH = 300;
const KEPT_LENGTH = 2048;

export interface LastWords {
  /** To be put behind what happened: `: Error: no key`, or nothing. */
  readonly because: string;
  readonly details?: { readonly stderr: string };
}

/** `redactor` is of the credentials that it was given. */
export async function lastWords(
  stderr: Uint8Array,
  { env }: Pick<Program, 'env'>,
  redactor?: Redactor,
): Promise<LastWords> {
  const text = Buffer.from(stderr).toString('utf8').trim();
  if (text === '') return { because: '' };
  const said = await withoutSecrets(text.slice(-4 * KEPT_LENGTH), env, redactor);
  const lines = said
    .split('\n')
    .map((line) => line.replace(/\p{Cc}+/gu, ' ').trim())
    .filter((line) => line !== '' && !AROUND_ERRORS.test(line));
  const line = lines.findLast((one) => TELLS_ERROR.test(one)) ?? lines.at(-1);
  if (line === undefined) return { because: '' };
  return { because: `: ${line.slice(0, MESSAGE_LENGTH)}`, details: { stderr: said.slice(-KEPT_LENGTH) } };
}

/** What a server says in an answer, on one line and without the secrets that it was started with. */
export async function wordsOf(
  text: string,
  { env }: Pick<Program, 'env'>,
  redactor?: Redactor,
): Promise<string> {
  return (await withoutSecrets(text.slice(0, KEPT_LENGTH), env, redactor)).replace(/\p{Cc}+/gu, ' ');
}

async function withoutSecrets(text: string, env: Program['env'], redactor?: Redactor): Promise<string> {
  const { createRedactor } = await import('../base/redact/create-redactor.ts');
  return createRedactor({ secrets: secretsOf(env) }).text(redactor?.text(text) ?? text);
}

/** Values of variables whose names say that they are secret. */
export const secretsOf = (env: Program['env']): readonly string[] =>
  Object.keys(env)
    .filter(isSecretKey)
    .map((name) => env[name] as string);

interface LineReader {
  /** To be awaited where it answers a promise: somebody keeps what cannot be held. */
  push(chunk: Uint8Array): Promise<void> | undefined;
}

interface LineEvents {
  /** A whole line without its end. The bytes are the taker's. */
  line(bytes: Buffer): void;
  /** A line longer than the bound: its length, and a few KiB of its beginning and its end. */
  oversize(length: number, head: string, tail: string): void;
  /**
   * Told with every piece of such a line, before its end has come: how long it is by now, its beginning, and the piece,
   * the first of which is all that was held.
   */
  overrun?(length: number, head: string, piece: Uint8Array): Promise<void> | undefined;
}

const NEWLINE = 0x0a;
const ENDS = 4096;

export function createLineReader(maxBytes: number, events: LineEvents): LineReader {
  let parts: Uint8Array[] = [];
  let held = 0;
  let skipped: { length: number; readonly head: string; tail: Buffer } | undefined;
  let keeping: Promise<void> | undefined;

  const keep = (part: Uint8Array): void => {
    if (skipped) {
      skipped.length += part.length;
      skipped.tail = Buffer.concat([skipped.tail, part.subarray(-ENDS)]).subarray(-ENDS);
      keeping = events.overrun?.(skipped.length, skipped.head, part);
      return;
    }
    parts.push(part);
    held += part.length;
    if (held <= maxBytes) return;
    const whole = Buffer.concat(parts);
    // Copied: a view would keep all of it.
    skipped = {
      length: held,
      head: whole.toString('utf8', 0, ENDS),
      tail: Buffer.from(whole.subarray(-ENDS)),
    };
    parts = [];
    held = 0;
    keeping = events.overrun?.(skipped.length, skipped.head, whole);
  };
  const finish = (): void => {
    if (skipped) {
      const { length, head, tail } = skipped;
      skipped = undefined;
      events.oversize(length, head, tail.toString());
      return;
    }
    const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    parts = [];
    held = 0;
    events.line(Buffer.from(line.buffer, line.byteOffset, line.byteLength));
  };
  return {
    push(chunk) {
      keeping = undefined;
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        keep(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      if (from < chunk.length) keep(chunk.subarray(from));
      return keeping;
    },
  };
}

/** The `id` of a message too long to be held, where it is the first or the last of its fields. */
export function idOfEnds(head: string, tail: string): number | undefined {
  const found =
    /^\s*\{\s*"(?:jsonrpc"\s*:\s*"2\.0"\s*,\s*")?id"\s*:\s*(\d+)/.exec(head) ??
    /"id"\s*:\s*(\d+)\s*\}\s*$/.exec(tail);
  return found ? Number(found[1]) : undefined;
}
