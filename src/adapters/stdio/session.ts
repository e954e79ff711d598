// Owns: one run of a program that speaks JSON lines: its greeting, the calls under way, its end.
// Refuses: to start another one.
import { isRecord } from '../../base/is-record.ts';
import type { Invocation, InvocationResult } from '../../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { Program, ProgramHandle } from '../../contract/program.ts';
import { readEnvelope, readProgress, replyFault, shownValue } from '../answer.ts';
import { lastWords, wordsOf } from '../last-words.ts';
import { type ServerLog, startLineProgram } from '../line-program.ts';
import type { Linked } from '../link.ts';
import { oversizedLines } from '../oversized-lines.ts';
import { createRequests } from '../requests.ts';

export interface StdioSession extends Linked {
  /** What it said of its tools when it was greeted. */
  readonly tools: readonly unknown[];
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
  const requests = createRequests<Reply, ReturnType<typeof readProgress>>();
  let closing: Failure | undefined;
  const lost = () =>
    fail('call.outcome_unknown', `Cannot say what became of the call: "${name}" ended before it answered`);
  const running = await startLineProgram(
    exec,
    program,
    options.maxLineBytes,
    {
      message(message) {
        if (!isRecord(message)) return;
        const { id, progress, ...answer } = message;
        if (progress !== undefined) requests.notice(id, readProgress(progress));
        else requests.answer(id, answer);
      },
      noise() {},
      ...oversizedLines({ name, limit: options.maxLineBytes, requests, stop: (why) => running.end(why) }),
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
  let refusal: string | undefined;
  try {
    const hello = await ask(HELLO, { signal: AbortSignal.any([options.signal, patience]) });
    const tools = greetedTools(hello);
    if (typeof tools === 'string') {
      refusal = (await wordsOf(tools, program)).slice(0, REFUSAL_LENGTH);
      throw fail('tool.unhealthy', refusal);
    }
    return {
      tools,
      get gone() {
        return running.gone;
      },
      call: async (tool, invocation) =>
        readReply(await ask({ tool, input: invocation.args as Json }, invocation)),
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
    const large = isFailure(thrown) && thrown.reason === 'output.too_large';
    const fact =
      refusal ??
      (late
        ? `it did not answer its greeting within ${startMs} ms`
        : (running.fault ??
          (large
            ? `it was ended, because its answer to the greeting is over the limit of ${options.maxLineBytes} bytes`
            : `it ended with code ${code} before it answered its greeting`)));
    throw fail('tool.unhealthy', `Cannot reach "${name}": ${fact}${because}`, {
      ...(late ? { timed_out: true } : {}),
      ...details,
    });
  }
}

type Reply = Readonly<Record<string, unknown>>;

const REFUSAL_LENGTH = 400;

/** Its tools; a text where it does not say them. */
function greetedTools(hello: Reply): readonly unknown[] | string {
  const fault = replyFault(hello);
  if (fault !== undefined) return `its answer to the greeting is none: ${fault}`;
  const read = readEnvelope(hello);
  if (!read.ok) return `it refuses its greeting: ${read.message}`;
  if (!isRecord(read.data))
    return `its answer to the greeting is none: its "data" is ${shownValue(read.data)}, not an object`;
  const { tools } = read.data;
  if (Array.isArray(tools)) return tools;
  return tools === undefined
    ? 'its answer to the greeting is none: it has no "tools"'
    : `its answer to the greeting is none: its "tools" is ${shownValue(tools)}, not a list`;
}

function readReply(reply: Reply): InvocationResult {
  const fault = replyFault(reply);
  return fault === undefined
    ? readEnvelope(reply)
    : {
        ok: false,
        message: `its program broke the protocol, and nobody can say what came of the call: ${fault}`,
      };
}

const HELLO: JsonObject = { hello: { protocol: 'haft-stdio/1' } };
