// Owns: one run of a program that speaks JSON lines: its greeting, the calls under way, its end.
// Refuses: to start another one.
import type { Invocation, InvocationResult } from '../../contract/adapter.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { Program, ProgramHandle } from '../../contract/program.ts';
import { isObject, readEnvelope, readProgress } from '../answer.ts';
import { lastWords } from '../last-words.ts';
import { type ServerLog, startLineProgram } from '../line-program.ts';
import type { Linked } from '../link.ts';
import { oversizedLines } from '../oversized-lines.ts';
import { createRequests } from '../requests.ts';

export interface StdioSession extends Linked {
  /** What it answered to the greeting. */
  readonly hello: unknown;
  call(tool: string, invocation: SessionCall): Promise<InvocationResult>;
  ping(signal: AbortSignal): Promise<void>;
}

export type SessionCall = Pick<Invocation, 'args' | 'signal' | 'progress' | 'spill'>;

export interface SessionOptions {
  readonly maxLineBytes: number;
  readonly startTimeoutMs?: number;
  readonly signal: AbortSignal;
  readonly log?: ServerLog | undefined;
}

const START_TIMEOUT_MS = 10_000;

export async function openStdioSession(
  name: string,
  exec: ProgramHandle,
  program: Program,
  options: SessionOptions,
): Promise<StdioSession> {
  const requests = createRequests<InvocationResult, ReturnType<typeof readProgress>>();
  let closing: Failure | undefined;
  const lost = () =>
    fail('call.outcome_unknown', `Cannot say what became of the call: "${name}" ended before it answered`);
  const running = await startLineProgram(
    exec,
    program,
    options.maxLineBytes,
    {
      message(message) {
        if (!isObject(message)) return;
        const { id, progress, ...answer } = message;
        if (progress !== undefined) requests.notice(id, readProgress(progress));
        else requests.answer(id, readEnvelope(answer));
      },
      noise() {},
      ...oversizedLines({ name, limit: options.maxLineBytes, requests, stop: () => void running.stop(0) }),
      gone: () => requests.failAll(closing ? () => closing as Failure : lost),
    },
    options.log,
  );
  const ask = (
    message: JsonObject,
    { signal, progress, spill }: Partial<SessionCall> & Pick<SessionCall, 'signal'>,
  ) =>
    requests.ask({
      signal,
      spill,
      send: (id) => running.send({ id, ...message }),
      cancel: (id) => running.send({ id, cancel: true }),
      notice: (notice) => notice && progress?.(notice),
    });

  const startMs = options.startTimeoutMs ?? START_TIMEOUT_MS;
  const patience = AbortSignal.timeout(startMs);
  try {
    const hello = await ask(HELLO, { signal: AbortSignal.any([options.signal, patience]) });
    return {
      hello: hello.ok ? hello.data : null,
      get gone() {
        return running.gone;
      },
      call: (tool, invocation) => ask({ tool, input: invocation.args as Json }, invocation),
      async ping(signal) {
        await ask({ ping: true }, { signal });
      },
      async close() {
        closing = fail('call.outcome_unknown', `Cannot finish the call: the adapter of "${name}" was closed`);
        requests.failAll(() => closing as Failure);
        await running.stop();
      },
    };
  } catch (thrown) {
    const late = patience.aborted && !options.signal.aborted;
    await running.stop(0);
    const { code, stderr } = await running.ended;
    if (options.signal.aborted) throw thrown;
    const { because, details } = await lastWords(stderr, program);
    throw fail(
      'tool.unhealthy',
      late
        ? `Cannot reach "${name}": it did not answer its greeting within ${startMs} ms${because}`
        : `Cannot reach "${name}": ${running.fault ?? `it ended with code ${code} before it answered its greeting`}${because}`,
      { ...(late ? { timed_out: true } : {}), ...details },
    );
  }
}

const HELLO: JsonObject = { hello: { protocol: 'haft-stdio/1' } };
