// Owns: `*.tool.yaml` tools of the kinds python, node, php and cli: a contained program for each call, or one that is kept.
// Refuses: what caps, env and limits do not grant. A program that answers wrongly, too much or too late is an answer or a
// failure, never a hang.
import { bothEnds } from '../../base/bounded-buffer.ts';
import { errorLine } from '../../base/error-line.ts';
import {
  type Adapter,
  type CallHandles,
  type HandlesFor,
  type Invocation,
  type InvocationResult,
  spillBytes,
} from '../../contract/adapter.ts';
import { fail } from '../../contract/errors.ts';
import type { EgressConnection } from '../../contract/http.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import { passedVariables } from '../../contract/own-variable.ts';
import { createPrinted } from '../../contract/printed.ts';
import { NO_NEEDS, programEffects } from '../../contract/program.ts';
import type { ReadInputs } from '../../contract/runs.ts';
import type { SandboxResult } from '../../contract/sandbox.ts';
import { createAnswerReader, readAnswerText, tooLarge } from '../answer.ts';
import { attempt, SEND_ONCE } from '../attempts.ts';
import { closedLink } from '../link.ts';
import { withReads } from '../program-config.ts';
import { type Scheduler, SYSTEM_SCHEDULER } from '../scheduler.ts';
import { createFillings, type Fillings, runInputs, type YamlUse, yamlUse } from '../yaml-filling.ts';
import { createWorkers, USUAL_WORKERS, type Workers, type WorkersOptions } from './workers.ts';
import { type ToolProgram, toolNeeds, toolProgram } from './yaml-program.ts';

export interface ProcessAdapterHandles {
  readonly handlesFor: HandlesFor;
  readonly scheduler?: Scheduler;
  readonly workers?: Partial<WorkersOptions>;
  /** Where the copy of a pack's folder lies that bears this digest. Without it, programs run where they lie. */
  readonly copyOf?: (folder: string, digest: string) => string;
  /** Digests of what tools may read. Without it, one that may read anything is not replayed. */
  readonly readInputs?: ReadInputs;
  /** Where `env.passthrough` is taken from; by default this process. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Beside the answer: for progress, and for stderr. */
const SPARE_OUTPUT = 4 * 1024 * 1024;
const STDERR_KEPT = 64 * 1024;
/** Of a program that is kept, over all of its calls: what it says beside its answers. */
const KEPT_OUTPUT = 16 * 1024 * 1024;

export function createProcessAdapter(handles: ProcessAdapterHandles): Adapter {
  const fillings = createFillings(handles.env);
  return {
    name: 'process',
    needs: ({ tool, site }) => programEffects(toolNeeds(yamlUse(tool)), site.place),
    effects({ installation, tool, args, site }) {
      const use = yamlUse(tool);
      const { config } = installation;
      const masked = fillings.masked(use, { input: args, config });
      const { program } = toolProgram({ use, filling: masked, masked, input: args, config });
      return programEffects(program, site.place);
    },
    runIdentity({ installation: { config }, tool, args: input }) {
      const use = yamlUse(tool);
      const { caps, env } = use.tool;
      const given = passedVariables(env.passthrough, handles.env ?? process.env);
      const passed = Object.fromEntries(env.passthrough.map((name) => [name, given[name] ?? null]));
      const paths = caps.filesystem.read;
      const inputs = runInputs(fillings, use, { input, config });
      return withReads(inputs, { code: tool.pins?.code, paths, passed, config }, handles.readInputs);
    },
    open: (installation, tools) => openPack(installation, tools, handles, fillings),
  };
}

function openPack(
  installation: Installation,
  tools: readonly BoundTool[],
  { handlesFor, copyOf, scheduler = SYSTEM_SCHEDULER, workers: workerOptions }: ProcessAdapterHandles,
  fillings: Fillings,
) {
  const { name, config } = installation;
  const byId = new Map(tools.map((tool) => [tool.contract.id, tool]));
  const workers = createWorkers({ ...USUAL_WORKERS, ...workerOptions });
  const closing = new AbortController();
  const underWay = new Set<Promise<unknown>>();

  const send = async (invocation: Invocation, use: YamlUse, code?: string): Promise<InvocationResult> => {
    const { args: input, credentials: secrets = {} } = invocation;
    const masked = fillings.masked(use, { input, config });
    const filling = fillings.fill(use, { input, config, secrets });
    const copy = code === undefined ? undefined : copyOf?.(use.tool.source.folder, code);
    const run = toolProgram({ use, filling, masked, input, config, copy });
    const handles = invocation.handles ?? handlesFor(installation);
    const signal = AbortSignal.any([invocation.signal, closing.signal]);
    const bound = { ...invocation, signal };
    const running = run.warm
      ? keptRun(bound, use, run, handles, workers)
      : singleRun(bound, use, run, handles);
    underWay.add(running);
    try {
      return await running;
    } catch (thrown) {
      if (invocation.signal.aborted) throw invocation.signal.reason;
      throw closing.signal.aborted ? closing.signal.reason : thrown;
    } finally {
      underWay.delete(running);
    }
  };
  return {
    async invoke(invocation: Invocation) {
      const { tool: id, args, signal } = invocation;
      if (closing.signal.aborted) throw closing.signal.reason;
      const bound = byId.get(id);
      if (!bound) throw fail('tool.unknown', `Cannot call "${id}": "${name}" has no such tool`);
      const use = yamlUse(bound);
      const { maxInputBytes: limit } = use.limits;
      const bytes = Buffer.byteLength(JSON.stringify(args) ?? '');
      if (bytes > limit)
        throw fail(
          'input.too_large',
          `Cannot call "${id}": its input is ${bytes} bytes, over the limit of ${limit}`,
          { bytes, limit },
        );
      const plan = use.tool.retry ?? SEND_ONCE;
      return attempt(() => send(invocation, use, bound.pins?.code), {
        plan,
        idempotent: use.idempotent,
        signal,
        scheduler,
        // It ended, and said that it failed: nothing of it is under way any more.
        again: ({ ok }) => !ok,
      });
    },
    async health(signal: AbortSignal) {
      const checkedTs = Date.now();
      if (closing.signal.aborted) return { status: 'unhealthy', checkedTs, message: 'closed' } as const;
      try {
        const missing = await missingPrograms(tools, handlesFor(installation), signal);
        if (missing.length === 0) return { status: 'ready', checkedTs } as const;
        const message = `these programs are not there: ${missing.join(', ')}`;
        return { status: 'unhealthy', checkedTs, message } as const;
      } catch (thrown) {
        return { status: 'unhealthy', checkedTs, message: (thrown as Error).message } as const;
      }
    },
    async close() {
      if (!closing.signal.aborted) closing.abort(closedLink(name));
      await workers.close();
      await Promise.allSettled([...underWay]);
    },
  };
}

async function singleRun(
  { signal, progress, testify, spill }: Invocation,
  use: YamlUse,
  { program, frame }: ToolProgram,
  { exec }: CallHandles,
): Promise<InvocationResult> {
  const { id, limits, timeoutMs } = use;
  const reader = createAnswerReader({ id, maxBytes: limits.maxOutputBytes, spill, progress });
  let said = 0;
  const printed = createPrinted();
  const outputBytes = spillBytes(limits.maxOutputBytes) + SPARE_OUTPUT;
  try {
    const result = await exec.run(
      { ...program, limits: { outputBytes } },
      {
        stdin: `${JSON.stringify(frame)}\n`,
        timeoutMs,
        signal,
        captureBytes: STDERR_KEPT,
        onOutput(stream, chunk) {
          printed.push(stream, chunk);
          if (stream === 'stdout') return reader.push(chunk);
          said += chunk.length;
          if (said > SPARE_OUTPUT) throw tooLarge(id, limits.maxOutputBytes);
          return undefined;
        },
      },
    );
    if (result.connections.length > 0) testify?.(factsOf(result.connections));
    checkEnd(use, result);
    const { code, signal: ended } = result;
    const stderr = Buffer.from(result.stderr).toString();
    return readOutcome(use, await reader.text(), { code, signal: ended, stderr });
  } catch (thrown) {
    await reader.discard();
    throw printed.into(thrown);
  }
}

async function keptRun(
  { signal, progress, testify, spill }: Invocation,
  use: YamlUse,
  { program, frame }: ToolProgram,
  { exec }: CallHandles,
  workers: Workers,
): Promise<InvocationResult> {
  const { id, timeoutMs, limits } = use;
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(overTime(id, timeoutMs));
  }, timeoutMs);
  const connections: EgressConnection[] = [];
  try {
    return await workers.call({
      exec,
      program: { ...program, limits: { outputBytes: KEPT_OUTPUT } },
      frame,
      id,
      maxOutputBytes: limits.maxOutputBytes,
      ...(spill ? { spill } : {}),
      signal: AbortSignal.any([signal, late.signal]),
      progress,
      heard: (connection) => connections.push(connection),
    });
  } finally {
    clearTimeout(timer);
    if (connections.length > 0) testify?.(factsOf(connections));
  }
}

const factsOf = (connections: readonly EgressConnection[]): JsonObject => ({
  connections: connections.map(({ scheme, host, port, outcome }) => ({ scheme, host, port, outcome })),
});

/** Interpreters, and programs of cli tools that are no templates. */
async function missingPrograms(
  tools: readonly BoundTool[],
  { exec }: CallHandles,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const names = new Set(tools.flatMap((tool) => programName(yamlUse(tool))));
  const missing: string[] = [];
  for (const name of names) {
    const argv = ['sh', '-c', 'command -v -- "$1"', 'sh', name] as const;
    const { code } = await exec.run({ argv, env: {}, needs: NO_NEEDS }, { signal, captureBytes: 0 });
    if (code !== 0) missing.push(name);
  }
  return missing;
}

const INTERPRETERS: Readonly<Record<string, readonly string[]>> = { python: ['python3'], php: ['php'] };

function programName({ execution }: YamlUse): readonly string[] {
  if (execution.kind !== 'cli') return INTERPRETERS[execution.kind] ?? [];
  return execution.script === undefined && !execution.cmd[0].includes('{') ? [execution.cmd[0]] : [];
}

/** How much of stderr goes into the details of a failure. */
const STDERR_BYTES = 2048;

const overTime = (id: string, timeout_ms: number) =>
  fail('time.deadline', `Cannot finish "${id}": its program ran longer than ${timeout_ms} ms`, {
    timeout_ms,
  });

/** Throws where it was ended from outside. */
function checkEnd({ id, limits, timeoutMs }: YamlUse, result: SandboxResult): void {
  if (result.timedOut) throw overTime(id, timeoutMs);
  if (result.limitHit === 'output') throw tooLarge(id, limits.maxOutputBytes);
  if (result.limitHit !== undefined)
    throw fail(
      'sandbox.limit',
      `Cannot finish "${id}": its program reached the limit of ${result.limitHit}`,
      { limit: result.limitHit },
    );
}

/** How a program ended. */
interface ProgramEnd {
  readonly code: number | null;
  readonly signal?: string | null;
  readonly stderr: string;
}

function readOutcome({ outputSchema }: YamlUse, text: string, end: ProgramEnd): InvocationResult {
  const { code, signal, stderr } = end;
  const answer = readAnswerText(text, outputSchema);
  if (code === 0 && answer) return answer;
  const said = { stderr: bothEnds(stderr, STDERR_BYTES) };
  if (code === 0)
    return {
      ok: false,
      message: 'its program did not answer with JSON',
      details: { ...said, stdout: text.slice(0, STDERR_BYTES) },
    };
  if (answer && !answer.ok)
    return { ...answer, details: { ...(answer.details as object), exit_code: code, ...said } };
  const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
  const last = errorLine(stderr)?.slice(0, 300);
  return {
    ok: false,
    message: `its program ${how}${last ? `: ${last}` : ''}`,
    details: { exit_code: code, ...(signal ? { signal } : {}), ...said },
  };
}
