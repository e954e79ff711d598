// Owns: tools of a program that keeps running and speaks JSON lines: docs/reference/stdio.md has the protocol.
// Refuses: to send a call twice unless its tool is idempotent or the call provably never left.
import { isRecord } from '../../base/is-record.ts';
import type { Redactor } from '../../base/redact/create-redactor.ts';
import type { Invocation, InvocationResult } from '../../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../../contract/json.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import { passedVariables } from '../../contract/own-variable.ts';
import {
  type Program,
  type ProgramConfig,
  type ProgramHandle,
  programEffects,
} from '../../contract/program.ts';
import { readEnvelope, readProgress, replyFault, shownValue } from '../answer.ts';
import { USUAL_BREAKER } from '../attempts.ts';
import { lastWords, type ServerLog, startLineProgram, wordsOf } from '../line-program.ts';
import { createLink, type Linked, linkedConnection, longestMessage } from '../link.ts';
import {
  callNeeds,
  fillConfig,
  PROGRAM_CONFIG,
  programConfig,
  programOf,
  withReads,
} from '../program-config.ts';
import { createRequests, oversizedLines } from '../requests.ts';
import { SYSTEM_SCHEDULER } from '../scheduler.ts';
import type { Discovery, ServerAdapter, ServerDeps } from '../server-adapter.ts';
import { depthFault, leftOut, nameTools, refuseTooMany, shownNames, usableTools } from '../tool-list.ts';

/** JSON Schema of `installation.config`. */
export const STDIO_CONFIG = {
  type: 'object',
  properties: PROGRAM_CONFIG,
  required: ['command'],
  additionalProperties: false,
} as const;

export function createStdioAdapter(deps: ServerDeps): ServerAdapter {
  const {
    handlesFor,
    secretsFor,
    startFor,
    logFor,
    readInputs,
    scheduler = SYSTEM_SCHEDULER,
    breaker = USUAL_BREAKER,
  } = deps;
  return {
    name: 'stdio',
    strategy: 'connection',
    config: STDIO_CONFIG,
    needs: ({ installation: { name, config }, site }) =>
      programEffects(programOf(programConfig(name, config)), site.place),
    effects({ installation, tool, site }) {
      const config = programConfig(installation.name, installation.config);
      return programEffects({ needs: callNeeds(config, tool.contract.mutates) }, site.place);
    },
    runIdentity({ installation: { name, config: given, digest }, tool }) {
      const { env = {}, caps = {} } = programConfig(name, given);
      const names = env.passthrough ?? [];
      const set = passedVariables(names, process.env);
      const passed = Object.fromEntries(names.map((variable) => [variable, set[variable] ?? null]));
      const paths = caps.filesystem?.read ?? [];
      // Its whole config is in the digest of the installation.
      return withReads({ code: digest }, { code: tool.pins?.code, paths, passed, config: {} }, readInputs);
    },
    open(installation, tools) {
      const { name } = installation;
      const config = programConfig(name, installation.config);
      const listeners = new Set<() => void>();
      let met = false;
      const link = createLink({
        name,
        scheduler,
        breaker,
        idleMs: config.idle_ms,
        connect: async (signal) => {
          const filled = await fillConfig(config, installation, secretsFor);
          const program = programOf(filled.config, process.env, startFor?.(installation));
          const session = await openStdioSession(name, handlesFor(installation).exec, program, {
            maxLineBytes: longestMessage(tools, config.max_output_bytes),
            ...(config.start_timeout_ms === undefined ? {} : { startTimeoutMs: config.start_timeout_ms }),
            signal,
            redactor: filled.redactor,
            log: logFor?.(installation, program.env),
          });
          if (met) for (const listener of listeners) listener();
          met = true;
          return session;
        },
      });
      const send = async (invocation: Invocation, { binding }: BoundTool) => {
        const session = await link.open(invocation.signal);
        return session.call(String(binding.target.name), invocation);
      };
      return {
        ...linkedConnection({
          name,
          tools,
          link,
          scheduler,
          send,
          ping: (session, signal) => session.ping(signal),
        }),
        discover: (signal) =>
          link.hold(async () => discoverTools(installation, await link.open(signal), config)),
        onChange(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      };
    },
  };
}

const TIMEOUT_MS = 60_000;
const MAX_BYTES = 4 * 1024 * 1024;

function discoverTools(
  { name }: Pick<Installation, 'name'>,
  { tools: listed, redactor }: Pick<StdioSession, 'tools' | 'redactor'>,
  config: Pick<ProgramConfig, 'timeout_ms' | 'max_output_bytes' | 'caps'>,
): Discovery {
  refuseTooMany(name, listed.length);
  const { usable, problems, faulty } = usableTools<Described>(name, listed, {
    redactor,
    schemas: ['input', 'output'],
    faultOf,
  });
  const { tools, collisions } = nameTools(name, usable, (tool) => tool.name);
  for (const { id, names } of collisions)
    problems.push(`"${name}" has several tools that would be ${id}: ${shownNames(names)}`);
  const { network = [], filesystem = {} } = config.caps ?? {};
  const reaches = network.length > 0 || (filesystem.write ?? []).length > 0;
  for (const [id, { deterministic }] of tools)
    if (deterministic === true && reaches)
      problems.push(
        `"${id}" is not taken for deterministic: caps of "${name}" grant it the network or paths to write, and a replay does neither`,
      );
  const bound = [...tools].map(
    ([id, tool]): BoundTool => ({
      contract: {
        id,
        version: '1.0.0',
        contract: 'v1',
        title: textOf(tool.title) ?? tool.name,
        description: textOf(tool.description) ?? '',
        tags: ['stdio'],
        input: tool.input as JsonSchema,
        output: (tool.output as JsonSchema | undefined) ?? true,
        deterministic: tool.deterministic === true && !reaches,
        idempotent: tool.idempotent === true || tool.deterministic === true,
        mutates: tool.mutates !== false,
        limits: {
          timeoutMs: config.timeout_ms ?? TIMEOUT_MS,
          maxInputBytes: MAX_BYTES,
          maxOutputBytes: config.max_output_bytes ?? MAX_BYTES,
        },
      },
      binding: { adapter: 'stdio', target: { name: tool.name } satisfies JsonObject },
    }),
  );
  return {
    tools: bound.sort((a, b) => (a.contract.id < b.contract.id ? -1 : 1)),
    problems,
    left: leftOut(name, faulty, collisions),
  };
}

interface Described {
  readonly name: string;
  readonly [field: string]: unknown;
}

function faultOf(tool: unknown): string | undefined {
  if (!isRecord(tool)) return 'it is no object';
  if (typeof tool.name !== 'string' || tool.name === '') return 'it has no name';
  if (!isRecord(tool.input)) return `"${tool.name}" has no input schema`;
  if (tool.output !== undefined && !isRecord(tool.output))
    return `the output schema of "${tool.name}" is none`;
  return depthFault(tool.name, [tool.input, tool.output]);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

interface StdioSession extends Linked {
  /** What it said of its tools when it was greeted. */
  readonly tools: readonly unknown[];
  readonly redactor: Redactor | undefined;
  call(tool: string, invocation: SessionCall): Promise<InvocationResult>;
  ping(signal: AbortSignal): Promise<void>;
}

type SessionCall = Pick<Invocation, 'args' | 'signal' | 'progress' | 'spill'>;

interface SessionOptions {
  readonly maxLineBytes: number;
  readonly startTimeoutMs?: number;
  readonly signal: AbortSignal;
  /** Of the secrets that it is given. */
  readonly redactor: Redactor | undefined;
  readonly log?: ServerLog | undefined;
}

const START_TIMEOUT_MS = 10_000;

async function openStdioSession(
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
      redactor: options.redactor,
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
      refusal = (await wordsOf(tools, program, options.redactor)).slice(0, REFUSAL_LENGTH);
      throw fail('tool.unhealthy', refusal);
    }
    return {
      tools,
      redactor: options.redactor,
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
    const { because, details } = await lastWords(stderr, program, options.redactor);
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
