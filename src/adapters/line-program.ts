// Owns: a contained program that speaks JSON lines on its stdin and stdout: one message a line, until it ends.
// Refuses: to understand the messages, and to start the program again; `link.ts` does.
import { spillBytes } from '../contract/adapter.ts';
import { fail } from '../contract/errors.ts';
import type { Json } from '../contract/json.ts';
import type { Installation } from '../contract/manifest.ts';
import type { Program, ProgramHandle, StandingProgram } from '../contract/program.ts';
import type { SandboxResult } from '../contract/sandbox.ts';
import { markUnsent } from './attempts.ts';
import { createLineReader, type LineEvents } from './line-reader.ts';

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
      fault = `it floods its standard output with what is no message ("${bytes.toString('utf8', 0, 40).replace(/\p{Cc}/gu, ' ')}")`;
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
