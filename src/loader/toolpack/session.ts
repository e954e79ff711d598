// Owns: the conversation with one process of a toolpack: started when first needed, started again when it died.
// Refuses: to wait for ever, and to believe a line that is no answer.
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { Program, ProgramHandle, StandingProgram } from '../../contract/program.ts';
import type { RefusedArgument, Unsafe } from './host.ts';
import { whereThrown } from './where-thrown.ts';

export interface ToolpackSession {
  /** Rejects with `toolpack.failed`, or with the signal's reason. */
  request(question: Question): Promise<Answer>;
  close(): Promise<void>;
}

export interface Question {
  readonly op: 'describe' | 'canonicalize' | 'run';
  readonly tool?: string;
  readonly input?: Json;
  readonly times?: number;
  readonly signal: AbortSignal;
  /** How long it may think between two questions of its own. Absent: as long as it likes. */
  readonly patienceMs?: number;
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
  settle(frame: Incoming): void;
  fault(reason: unknown): void;
  restart(): void;
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
}

export function createSession(options: SessionOptions): ToolpackSession {
  let live: Promise<Live> | undefined;
  let current: Live | undefined;
  let count = 0;
  let closed = false;
  /** `trace` is where Node.js says that it happened: the stack of an error, or its last words. */
  const failed = (fact: string, trace = ''): Failure => {
    const at = whereThrown(trace, options.folder());
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
      send: (frame) => void program.stdin.write(`${JSON.stringify(frame)}\n`),
    };
    const lose = (fact: string, trace?: string): void => {
      forget(one);
      for (const { fault } of pending.values()) fault(Object.assign(failed(fact, trace), { died: true }));
      pending.clear();
    };
    program.stdin.on('error', () => {});
    program.stdout.on('error', () => {});
    readLines(program, (line) => {
      const frame = parse(line);
      if (!frame) {
        lose('it wrote something that is no answer to its standard output');
        void program.stop(0);
      } else receive(one, frame);
    });
    void program.result.then(({ code, signal, limitHit, stderr }) => {
      const how = limitHit
        ? `it reached its limit of ${limitHit}`
        : `it ended with ${signal ?? `code ${code}`}`;
      const said = Buffer.from(stderr).toString().trim().slice(-1_000);
      lose(said === '' ? how : (syntaxError(said) ?? `${how}: ${said}`), said);
    });
    current = one;
    return one;
  };

  const forget = (one: Live): void => {
    if (current === one) live = undefined;
  };

  const receive = (one: Live, frame: Incoming): void => {
    if (frame.re !== undefined) {
      one.pending.get(frame.re)?.settle(frame);
      one.pending.delete(frame.re);
      return;
    }
    const asker = one.pending.get(frame.for ?? -1);
    if (frame.ask === undefined || !asker) return;
    const { ask } = frame;
    asker.restart();
    const answering = asker.question.reply?.(String(frame.method), frame.params ?? []);
    void (answering ?? Promise.reject(new Error('there is nobody to ask'))).then(
      (value) => one.send({ answer: ask, ok: true, value: value ?? null }),
      (thrown: unknown) => {
        if (isFailure(thrown)) asker.refusals.push(thrown);
        one.send({ answer: ask, ok: false, message: messageOf(thrown) });
      },
    );
  };

  const ask = async (question: Question): Promise<Answer> => {
    const { signal, patienceMs, op, tool, input, times } = question;
    signal.throwIfAborted();
    if (closed) throw failed('it is closed');
    live ??= start();
    const starting = live;
    const one = await starting.catch((thrown) => {
      if (live === starting) live = undefined;
      throw thrown;
    });
    count += 1;
    const id = count;
    return new Promise<Answer>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        one.pending.delete(id);
      };
      const fault = (reason: unknown): void => {
        done();
        reject(reason);
      };
      const abort = (): void => fault(signal.reason);
      const restart = (): void => {
        clearTimeout(timer);
        if (patienceMs === undefined) return;
        timer = setTimeout(() => {
          // It may never come back from where it is.
          forget(one);
          fault(failed(`it did not answer within ${patienceMs} ms`));
          void one.program.stop(0);
        }, patienceMs);
      };
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
      const refusals: Failure[] = [];
      one.pending.set(id, { question, settle, fault, restart, refusals });
      signal.addEventListener('abort', abort);
      restart();
      one.send({ id, op, tool, input, times });
    });
  };

  return {
    /** What is pure is asked again where the process died, perhaps of an earlier question. */
    request: (question) =>
      question.op === 'run'
        ? ask(question)
        : ask(question).catch((thrown: { readonly died?: true }) => {
            if (thrown.died) return ask(question);
            throw thrown;
          }),
    async close() {
      closed = true;
      const one = await live?.catch(() => undefined);
      one?.program.stdin.end();
      await one?.program.stop(0);
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
