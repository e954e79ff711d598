// Owns: the conversation with one process of a toolpack: started when first needed, started again when it died.
// Refuses: to wait for ever, and to believe a line that is no answer.
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { Program, ProgramHandle, StandingProgram } from '../../contract/program.ts';
import type { Unsafe } from './encode-answer.ts';
import type { RefusedArgument } from './host.ts';
import { type SourceOf, whereThrown } from './where-thrown.ts';

export interface ToolpackSession {
  /** Rejects with `toolpack.failed`, or with the signal's reason. */
  request(question: Question): Promise<Answer>;
  /** Ends its process until the next question. Undefined, and nothing ends, while it is asked something. */
  rest(): Promise<unknown> | undefined;
  close(): Promise<void>;
}

export interface Question {
  readonly op: 'load' | 'describe' | 'canonicalize' | 'run';
  readonly tool?: string;
  readonly input?: Json;
  readonly times?: number;
  readonly signal: AbortSignal;
  /** How much time it may take for itself, in all: while its questions are answered the clock stands still. */
  readonly patienceMs: number;
  /** Questions that are answered on its own time. */
  readonly counted?: readonly string[];
  /** What is told where it took more. By default `toolpack.failed`. */
  late?(): Failure;
  /** Answers what the process asks meanwhile. */
  reply?(method: string, params: readonly unknown[]): Promise<unknown>;
}

export type Answer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly unsafe: Unsafe }
  | { readonly ok: false; readonly refused: RefusedArgument };

/** A message longer than this is no message. */
const MAX_LINE = 32 * 1024 * 1024;

interface Pending {
  readonly question: Question;
  readonly time: OwnTime;
  settle(frame: Incoming): void;
  fault(reason: unknown): void;
  /** Nobody waits for it any more: whatever it still asks is refused, and it ends or is ended. */
  readonly abandoned: () => boolean;
  /** What the host refused while it was asked: where the pack only hands one on, it is told as that. */
  readonly refusals: Failure[];
}

interface Incoming {
  readonly re?: number;
  readonly ok?: boolean;
  readonly value?: unknown;
  readonly unsafe?: Unsafe;
  readonly refused?: RefusedArgument;
  readonly message?: string;
  readonly stack?: string;
  readonly ask?: number;
  readonly for?: number;
  readonly method?: string;
  readonly params?: readonly unknown[];
}

interface Live {
  readonly program: StandingProgram;
  readonly pending: Map<number, Pending>;
  ended: boolean;
  send(frame: object): void;
}

export interface SessionOptions {
  readonly programs: Pick<ProgramHandle, 'start'>;
  /** Made for each start anew. */
  program(): Program;
  /** The pack's name, for messages. */
  readonly name: string;
  /** Where its copy lies: never shown to anybody. */
  readonly folder: () => string;
  readonly source: SourceOf;
}

/** How long a question that nobody waits for any more may go on. */
const GRACE_MS = 1_000;

export function createSession(options: SessionOptions): ToolpackSession {
  const standing = new Set<Live>();
  const ending = new Set<Promise<unknown>>();
  let live: Promise<Live> | undefined;
  let current: Live | undefined;
  let count = 0;
  let asking = 0;
  let closed = false;
  /** `trace` is where Node.js says that it happened: the stack of an error, or its last words. */
  const failed = (fact: string, trace = ''): Failure => {
    const at = whereThrown(trace, options.folder(), options.source);
    const place = at ? ` (${at.file}:${at.line}:${at.column})` : '';
    const message = `Cannot ask the toolpack "${options.name}": ${shown(fact, options.folder())}${place}`;
    return fail('toolpack.failed', message, at && { ...at });
  };

  const start = async (): Promise<Live> => {
    const program = await options.programs.start(options.program());
    const pending = new Map<number, Pending>();
    const one: Live = {
      program,
      pending,
      ended: false,
      send: (frame) => void program.stdin.write(`${JSON.stringify(frame)}\n`),
    };
    const lose = (fact: string, trace?: string): void => {
      forget(one);
      standing.delete(one);
      for (const { fault } of [...pending.values()])
        fault(Object.assign(failed(fact, trace), { died: true }));
    };
    program.stdin.on('error', () => {});
    program.stdout.on('error', () => {});
    readLines(program, (line) => {
      const frame = parse(line);
      if (!frame || (frame.re === undefined && frame.ask === undefined)) {
        lose('it wrote something that is no answer to its standard output');
        end(one);
      } else receive(one, frame);
    });
    void program.result.then(({ code, signal, limitHit, stderr }) => {
      const how = limitHit
        ? `it reached its limit of ${limitHit}`
        : `it ended with ${signal ?? `code ${code}`}`;
      const said = Buffer.from(stderr).toString().trim().slice(-1_000);
      lose(said === '' ? how : (syntaxError(said) ?? `${how}: ${said}`), said);
    });
    standing.add(one);
    if (closed) end(one);
    return one;
  };

  const shared = (): Promise<Live> => {
    live ??= start().then((one) => {
      current = one;
      return one;
    });
    const starting = live;
    return starting.catch((thrown) => {
      if (live === starting) live = undefined;
      throw thrown;
    });
  };

  const forget = (one: Live): void => {
    if (current === one) live = undefined;
  };

  /** It may never come back from where it is. Who waits for something else in it asks another process. */
  const end = (one: Live): void => {
    if (one.ended) return;
    one.ended = true;
    forget(one);
    standing.delete(one);
    for (const { fault, time } of [...one.pending.values()])
      fault(Object.assign(failed('it was ended'), { displaced: time.running ? 'suspect' : 'other' }));
    const stopping = Promise.resolve(one.program.stop(0)).catch(() => {});
    ending.add(stopping);
    void stopping.then(() => ending.delete(stopping));
  };

  const receive = (one: Live, frame: Incoming): void => {
    if (frame.re !== undefined) {
      one.pending.get(frame.re)?.settle(frame);
      return;
    }
    const asker = one.pending.get(frame.for ?? -1);
    if (frame.ask === undefined || !asker) return;
    const { ask } = frame;
    const method = String(frame.method);
    const { question, time, refusals, abandoned } = asker;
    const isCounted = question.counted?.includes(method) ?? false;
    if (!isCounted) time.pause();
    const answer = (reply: object): void => {
      if (!isCounted) time.resume();
      one.send({ answer: ask, ...reply });
    };
    const answering = abandoned() ? undefined : question.reply?.(method, frame.params ?? []);
    void (answering ?? Promise.reject(new Error('there is nobody to ask'))).then(
      (value) => answer({ ok: true, value: value ?? null }),
      (thrown: unknown) => {
        if (isFailure(thrown)) refusals.push(thrown);
        answer({ ok: false, message: messageOf(thrown) });
      },
    );
  };

  /**
   * A process that is stuck does not say which of its questions it is stuck in. So half of the time is spent in the process
   * that all share; where another question was thought about as well, the other half is spent in one of its own.
   */
  const ask = async (question: Question, alone: boolean): Promise<Answer> => {
    const { signal, patienceMs, op, tool, input, times } = question;
    signal.throwIfAborted();
    if (closed) throw failed('it is closed');
    const one = await (alone ? start() : shared());
    count += 1;
    const id = count;
    return new Promise<Answer>((resolve, reject) => {
      let isAbandoned = false;
      const refusals: Failure[] = [];
      const done = (): void => {
        time.stop();
        signal.removeEventListener('abort', abandon);
        one.pending.delete(id);
        if (alone) end(one);
      };
      const fault = (reason: unknown): void => {
        done();
        reject(reason);
      };
      const abandon = (): void => {
        isAbandoned = true;
        time.allow(GRACE_MS);
        reject(signal.reason);
      };
      let isHalf = !alone;
      const time = startOwnTime(patienceMs / 2, () => {
        const others = [...one.pending.values()].some((other) => other.time !== time && other.time.running);
        if (isHalf && others && !isAbandoned) return end(one);
        if (isHalf && !isAbandoned) {
          isHalf = false;
          return time.allow(patienceMs / 2);
        }
        fault(question.late?.() ?? failed(`it did not answer within ${patienceMs} ms`));
        end(one);
      });
      const settle = (frame: Incoming): void => {
        done();
        if (frame.ok) resolve({ ok: true, value: frame.value });
        else if (frame.unsafe) resolve({ ok: false, unsafe: frame.unsafe });
        else if (frame.refused) resolve({ ok: false, refused: frame.refused });
        else
          reject(
            refusals.find(({ message }) => message.slice(0, 2_000) === frame.message) ??
              failed(String(frame.message), `${frame.message}\n${frame.stack}`),
          );
      };
      one.pending.set(id, { question, time, settle, fault, refusals, abandoned: () => isAbandoned });
      signal.addEventListener('abort', abandon);
      one.send({ id, op, tool, input, times });
    });
  };

  return {
    /** What is pure is asked again where the process died, perhaps of an earlier question; a run where another question ended it. */
    async request(question) {
      asking += 1;
      try {
        for (let died = false, alone = false; ; ) {
          try {
            return await ask(question, alone);
          } catch (thrown) {
            const fate = thrown as { readonly died?: true; readonly displaced?: 'suspect' | 'other' };
            if (!fate.displaced && (!fate.died || died || question.op === 'run')) throw thrown;
            died ||= fate.died === true;
            alone ||= fate.displaced === 'suspect';
          }
        }
      } finally {
        asking -= 1;
      }
    },
    rest() {
      if (asking > 0) return undefined;
      for (const one of standing) end(one);
      return Promise.all(ending);
    },
    async close() {
      closed = true;
      for (const one of standing) {
        one.program.stdin.end();
        end(one);
      }
      await live?.catch(() => undefined);
      await Promise.all(ending);
    },
  };
}

/** A module that cannot be read ends its process, and the first line of its error is the fact. */
const syntaxError = (said: string): string | undefined => /^SyntaxError: (.*)$/m.exec(said)?.[1];

/** Where its copy lies is nobody's business, and in every message another place. */
const shown = (text: string, folder: string): string =>
  text.replaceAll(`file://${folder}/`, '').replaceAll(`${folder}/`, '');

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

function parse(line: string): Incoming | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function readLines({ stdout, stop }: StandingProgram, take: (line: string) => void): void {
  let parts: Buffer[] = [];
  let held = 0;
  stdout.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at));
      take(Buffer.concat(parts).toString());
      parts = [];
      held = 0;
      from = at + 1;
    }
    if (from === chunk.length) return;
    parts.push(chunk.subarray(from));
    held += chunk.length - from;
    if (held > MAX_LINE) {
      parts = [];
      held = 0;
      void stop(0);
    }
  });
}

interface OwnTime {
  /** Somebody else works; as often as this is said, `resume` has to be. */
  pause(): void;
  resume(): void;
  readonly running: boolean;
  /** So much from now on, whatever was left. */
  allow(ms: number): void;
  stop(): void;
}

/** Runs from now on. */
function startOwnTime(limitMs: number, onOver: () => void): OwnTime {
  let left = limitMs;
  let since = 0;
  let pauses = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const run = (): void => {
    if (stopped || pauses > 0) return;
    since = performance.now();
    timer = setTimeout(onOver, Math.max(0, left));
  };
  run();
  return {
    pause() {
      pauses += 1;
      if (pauses > 1) return;
      clearTimeout(timer);
      left -= performance.now() - since;
    },
    resume() {
      pauses -= 1;
      run();
    },
    get running() {
      return !stopped && pauses === 0;
    },
    allow(ms) {
      clearTimeout(timer);
      left = ms;
      run();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
