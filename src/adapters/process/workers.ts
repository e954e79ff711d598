// Owns: interpreters that are kept between calls: one call at a time each, for calls of one sandbox profile.
// Refuses: to keep one after a fault, after many calls, or when nobody came for a while.
import { bothEnds } from '../../base/bounded-buffer.ts';
import { isRecord } from '../../base/is-record.ts';
import { waitTurn } from '../../base/turns.ts';
import type { AnswerSpill, Invocation, InvocationResult } from '../../contract/adapter.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { EgressConnection } from '../../contract/http.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Program, ProgramHandle, StandingProgram } from '../../contract/program.ts';
import type { SandboxResult } from '../../contract/sandbox.ts';
import { readEnvelope, readProgress, tooLarge } from '../answer.ts';
import { type LineProgram, type LineProgramEvents, speakLines } from '../line-program.ts';

export interface WorkersOptions {
  /** A worker that served so many is replaced. */
  readonly maxCalls: number;
  /** Workers of one profile at once; further calls wait. */
  readonly maxPerProfile: number;
  readonly idleMs: number;
}

export const USUAL_WORKERS: WorkersOptions = { maxCalls: 1_000, maxPerProfile: 4, idleMs: 60_000 };

export interface WorkerCall {
  readonly exec: ProgramHandle;
  readonly program: Program;
  readonly frame: JsonObject;
  readonly id: string;
  readonly maxOutputBytes: number;
  readonly spill?: Invocation['spill'];
  readonly signal: AbortSignal;
  progress: Invocation['progress'];
  heard(connection: EgressConnection): void;
}

export interface Workers {
  /** Rejects with the signal's reason, `output.too_large`, or `call.outcome_unknown` where the worker was lost. */
  call(call: WorkerCall): Promise<InvocationResult>;
  close(): Promise<void>;
}

interface Worker {
  readonly standing: StandingProgram;
  readonly lines: LineProgram;
  current:
    | { readonly call: WorkerCall; resolve(answer: InvocationResult): void; reject(reason: unknown): void }
    | undefined;
  calls: number;
  idle?: NodeJS.Timeout;
}

interface Shelf {
  open: number;
  readonly free: Worker[];
  readonly waiting: (() => void)[];
}

export function createWorkers(options: WorkersOptions): Workers {
  const shelves = new Map<string, Shelf>();
  const all = new Set<Worker>();
  let closed = false;

  const shelfOf = (key: string): Shelf => {
    const known = shelves.get(key) ?? { open: 0, free: [], waiting: [] };
    shelves.set(key, known);
    return known;
  };
  const drop = (key: string, worker: Worker): void => {
    if (!all.delete(worker)) return;
    clearTimeout(worker.idle);
    const shelf = shelfOf(key);
    const at = shelf.free.indexOf(worker);
    if (at >= 0) shelf.free.splice(at, 1);
    shelf.open--;
    shelf.waiting.shift()?.();
    if (shelf.open === 0 && shelf.waiting.length === 0) shelves.delete(key);
    void worker.lines.stop(0);
  };
  const keep = (key: string, worker: Worker): void => {
    if (closed || worker.lines.gone || worker.calls >= options.maxCalls) return drop(key, worker);
    const shelf = shelfOf(key);
    shelf.free.push(worker);
    worker.idle = setTimeout(() => drop(key, worker), options.idleMs);
    worker.idle.unref();
    shelf.waiting.shift()?.();
  };
  const take = async (key: string, call: WorkerCall): Promise<Worker> => {
    for (;;) {
      if (closed) throw fail('call.outcome_unknown', `Cannot call "${call.id}": its adapter was closed`);
      const shelf = shelfOf(key);
      const worker = shelf.free.pop();
      if (worker) {
        clearTimeout(worker.idle);
        if (!worker.lines.gone) return worker;
        drop(key, worker);
      } else if (shelf.open < options.maxPerProfile) {
        shelf.open++;
        try {
          const made = await startWorker(call);
          all.add(made);
          return made;
        } catch (thrown) {
          shelf.open--;
          shelf.waiting.shift()?.();
          throw thrown;
        }
      } else await waitTurn(shelf.waiting, call.signal);
    }
  };

  return {
    async call(call) {
      call.signal.throwIfAborted();
      // What a worker may answer is fixed when it starts: it serves no tool that may answer less.
      const key = `${await call.exec.profile(call.program)} ${call.maxOutputBytes}`;
      const worker = await take(key, call);
      if (call.signal.aborted) {
        keep(key, worker);
        throw call.signal.reason;
      }
      call.exec.adopt(worker.standing, call.heard);
      worker.calls++;
      try {
        const answer = await serve(worker, call);
        if (mayWrite(call)) await call.exec.lookAfter(call.program);
        keep(key, worker);
        return answer;
      } catch (thrown) {
        // It may still be at work, or may have been lost: nobody else shall meet it.
        drop(key, worker);
        if (mayWrite(call)) {
          await worker.standing.result;
          await call.exec.lookAfter(call.program);
        }
        throw thrown;
      }
    },
    async close() {
      closed = true;
      const ending = [...all].map(async (worker) => {
        const failure = fail('call.outcome_unknown', 'Cannot finish the call: its adapter was closed');
        worker.current?.reject(failure);
        clearTimeout(worker.idle);
        await worker.lines.stop(0);
      });
      for (const shelf of shelves.values()) for (const go of shelf.waiting.splice(0)) go();
      await Promise.all(ending);
    },
  };
}

const mayWrite = ({ program }: WorkerCall): boolean => program.needs.writes.length > 0;

function serve(worker: Worker, call: WorkerCall): Promise<InvocationResult> {
  return new Promise<InvocationResult>((resolve, reject) => {
    const abort = () => reject(call.signal.reason);
    const settle = () => {
      worker.current = undefined;
      call.signal.removeEventListener('abort', abort);
    };
    worker.current = {
      call,
      resolve(answer) {
        settle();
        resolve(answer);
      },
      reject(reason) {
        settle();
        reject(reason);
      },
    };
    call.signal.addEventListener('abort', abort, { once: true });
    try {
      worker.lines.send(call.frame);
    } catch (thrown) {
      worker.current.reject(thrown);
    }
  });
}

async function startWorker({ exec, program, maxOutputBytes, heard }: WorkerCall): Promise<Worker> {
  const standing = await exec.start(program, heard);
  const lines = speakLines(standing, 2 * maxOutputBytes + 64 * 1024, {
    message(message) {
      const { current } = worker;
      if (!current || !isRecord(message)) return;
      if ('progress' in message) {
        const progress = readProgress(message.progress);
        if (progress) current.call.progress(progress);
      } else current.resolve(readEnvelope(message));
    },
    noise() {},
    ...keptElsewhere(() => worker.current, 2 * maxOutputBytes + 64 * 1024),
    gone() {
      const { current } = worker;
      if (current) void standing.result.then((result) => current.reject(lost(current.call.id, result)));
    },
  });
  const worker: Worker = { standing, lines, current: undefined, calls: 0 };
  return worker;
}

/** What is too long to be held goes to where the call keeps it; where nothing does, the call ends at once. */
function keptElsewhere(
  current: () => Worker['current'],
  limit: number,
): Pick<LineProgramEvents, 'oversize' | 'overrun'> {
  let spill: AnswerSpill | undefined;
  return {
    overrun(_length, _head, piece) {
      const serving = current();
      if (!serving) return undefined;
      try {
        spill ??= serving.call.spill?.();
        if (spill) return spill.write(piece);
        throw tooLarge(serving.call.id, serving.call.maxOutputBytes);
      } catch (thrown) {
        void spill?.discard();
        spill = undefined;
        serving.reject(thrown);
        return undefined;
      }
    },
    oversize() {
      const serving = current();
      const kept = spill;
      spill = undefined;
      if (serving) kept?.fail(limit).then(serving.reject, serving.reject);
      else void kept?.discard();
    },
  };
}

function lost(id: string, { limitHit, stderr }: SandboxResult): Failure {
  if (limitHit !== undefined)
    return fail('sandbox.limit', `Cannot finish "${id}": its program reached the limit of ${limitHit}`, {
      limit: limitHit,
    });
  const said = bothEnds(Buffer.from(stderr).toString('utf8').trim(), 2048);
  const details = said === '' ? undefined : { stderr: said };
  return fail(
    'call.outcome_unknown',
    `Cannot say what became of "${id}": its program ended before it answered`,
    details,
  );
}
