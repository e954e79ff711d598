// Owns: how the tools of a toolpack are prepared and called: from arguments to a named run, and its `run` around an attempt to one result.
// Refuses: whatever breaks a rule of the ABI, artifacts that the arguments do not name, and a result that depends on anything but the run.

import { canonicalText } from '../../base/canonical-json.ts';
import { sha256Hex } from '../../base/digest.ts';
import type { Adapter, Invocation } from '../../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Json, JsonObject, SchemaCompiler } from '../../contract/json.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { ConductedAttempt, PreparedRun, PrepareSite, RunExecutor } from '../../contract/runs.ts';
import type { PackFiles } from '../../contract/toolpack.ts';
import { type CallProblem, checkCall } from './check-call.ts';
import { type Dialects, isRecord, show } from './check-definition.ts';
import { outputsOf, type ToolFields } from './contract-of.ts';
import { type RunAsking, refusal as refusedCall, type Toolpack } from './toolpack.ts';

interface ToolpackAdapterSite {
  readonly files: PackFiles;
  readonly toolpack: Pick<Toolpack, 'run' | 'close'>;
  readonly canonicalize: Toolpack['canonicalize'];
  readonly tools: readonly ToolFields[];
  readonly runs: RunExecutor;
  readonly schemas: SchemaCompiler;
  readonly dialects: Dialects;
}

const READ_ARTIFACT = 64 * 1024;

export function createToolpackAdapter(site: ToolpackAdapterSite): Adapter {
  const { files, toolpack, canonicalize, runs, schemas } = site;
  const byName = new Map(site.tools.map((fields) => [fields.toolName, fields]));

  const prepare = async (fields: ToolFields, args: JsonObject, given: PrepareSite): Promise<PreparedRun> => {
    const named = artifactsIn(args);
    const answer = await canonicalize(fields.toolName, args, {
      signal: given.signal,
      reply: (method, params) => answerFrom(CANONICALIZE, method, params, { site: given, named }),
    });
    const cannot = `Cannot prepare a run of "${fields.toolName}"`;
    if (!answer.ok && 'difference' in answer) {
      const { path, first, second } = answer.difference;
      const message = `${cannot}: in two environments its toolpack made two different runs of it; at "${path}" ${show(first)} and ${show(second)}`;
      throw fail('toolpack.unstable', message, { path, first: show(first), second: show(second) });
    }
    if (!answer.ok && 'refused' in answer) throw refusedCall(fields.toolName, answer.refused);
    const checked = answer.ok
      ? checkCall(answer.value, {
          planKind: fields.planKind,
          dialects: site.dialects,
          outputs: outputsOf(fields),
          mutableState: fields.mutableState ?? [],
          named,
        })
      : [
          {
            code: 'params.not_json',
            message: `canonicalize answered what JSON cannot say: at "${answer.unsafe.path}" ${answer.unsafe.fact}`,
          },
        ];
    if (!('plan' in checked)) throw refusal(cannot, checked);
    const { plan, plans, canonicalParams } = checked;
    const held = await given.artifacts.hold(plan.inputs.map(({ artifact }) => artifact));
    const inputs = plan.inputs.map(({ role, artifact, dest }, n) => ({
      role,
      digest: artifact as string,
      size: held[n]?.size ?? 0,
      dest,
    }));
    const params: JsonObject = {
      toolpack: files.digest,
      params: canonicalParams,
      // The digest alone: what a registry calls it changes nothing.
      image: plan.image?.slice(plan.image.lastIndexOf('@') + 1) ?? null,
      argv: plan.argv,
      env: plan.env,
      inputs,
      outputs: plan.outputs.map((output) => ({ ...output })),
    };
    const authored = (answer as { readonly value: { readonly plan: Json } }).value.plan;
    return { params, plan, plans, carry: { canonicalParams, plan: authored } };
  };

  return {
    name: 'toolpack',
    // It reads what its arguments name, and what it makes is kept.
    effects: ({ args }) => [
      ...[...artifactsIn(args as Json)].map((artifact) => ({ kind: 'artifact.read', artifact }) as const),
      { kind: 'artifact.import' },
    ],
    prepare: ({ tool, args, site: given }) =>
      prepare(byName.get(tool.contract.id) as ToolFields, args as JsonObject, given),
    open: () => ({
      async invoke(invocation: Invocation) {
        const fields = byName.get(invocation.tool);
        if (!fields || !invocation.run)
          throw fail('tool.unknown', `Cannot call "${invocation.tool}": the toolpack has no such tool`);
        const outcome = await runs.execute(
          {
            ticket: invocation.run,
            tool: fields.toolName,
            contract: fields.contractVersion,
            callId: invocation.callId,
            args: invocation.args as JsonObject,
            conduct: (attempt) => conductRun({ toolpack, schemas }, fields, attempt),
            onOutput: (stream, text) => invocation.output?.(stream, text),
          },
          invocation.signal,
        );
        invocation.testify?.(outcome.facts);
        for (const { backend, why } of outcome.passedOver ?? [])
          invocation.warn?.({
            reason: 'run.place',
            message: `"${fields.toolName}" did not run on ${backend}: ${why}`,
          });
        return { ok: true, data: outcome.data };
      },
      health: async () => ({ status: 'ready', checkedTs: null }),
      // They are those of the pack, quarantined or not.
      retool() {},
      close: () => toolpack.close(),
    }),
  };
}

function refusal(cannot: string, problems: readonly CallProblem[]) {
  const list = problems.map(({ message }) => message).join('; ');
  const details = problems.map(({ code, message }) => ({ code, message }));
  return fail('toolpack.abi', `${cannot}: ${list}`.slice(0, 4_000), { problems: details });
}

/** Every artifact id in the arguments, wherever it stands. */
function artifactsIn(value: Json, found = new Set<string>()): ReadonlySet<string> {
  if (typeof value === 'string') {
    if (/^sha256:[0-9a-f]{64}$/.test(value)) found.add(value);
  } else if (typeof value === 'object' && value !== null)
    for (const below of Object.values(value)) artifactsIn(below as Json, found);
  return found;
}

async function sizeOf({ artifacts }: PrepareSite, id: ObjectId): Promise<number> {
  const [artifact] = await artifacts.hold([id]);
  return artifact?.size ?? 0;
}

interface Preparing {
  readonly site: PrepareSite;
  readonly named: ReadonlySet<string>;
}

const CANONICALIZE: Replies<Preparing> = {
  async 'artifacts.stat'([id], { site, named }) {
    const artifactId = insideOf(id, named);
    return { artifactId, size: await sizeOf(site, artifactId) };
  },
  async 'artifacts.readText'([id, maxBytes], { site, named }) {
    const artifactId = insideOf(id, named);
    const end = readAmount(maxBytes, READ_ARTIFACT);
    return Buffer.from((await site.artifacts.read(artifactId, { start: 0, end })).bytes).toString();
  },
  'images.pin': ([reference, optional], { site }) =>
    site.pinImage(String(reference)).catch((thrown: unknown) => {
      if (optional === 'optional' && isFailure(thrown) && thrown.reason === 'image.unpinned') return null;
      throw thrown;
    }),
};

function insideOf(id: unknown, named: ReadonlySet<string>): ObjectId {
  if (named.has(String(id))) return id as ObjectId;
  throw fail('toolpack.abi', `Cannot look at the artifact ${show(id)}: the arguments do not name it`);
}

/** Beside its program a `run` reads and counts; whatever its plan's time, it has no more than this. */
const LONGEST_MS = 60_000;
const READ_OUTPUT = 1024 * 1024;

interface ConductSite {
  readonly toolpack: Pick<Toolpack, 'run'>;
  readonly schemas: SchemaCompiler;
}

async function conductRun(
  { toolpack, schemas }: ConductSite,
  fields: ToolFields,
  attempt: ConductedAttempt,
): Promise<Json> {
  const { toolName, result: schema } = fields;
  const answer = await toolpack.run(toolName, askings(toolName, attempt));
  const cannot = `Cannot take the result of "${toolName}"`;
  if (!answer.ok && 'difference' in answer) {
    const { path, first, second } = answer.difference;
    const message = `${cannot}: in two environments its run() answered two different results; at "${path}" ${show(first)} and ${show(second)}`;
    throw fail('toolpack.unstable', message, { path, first: show(first), second: show(second) });
  }
  if (!answer.ok && 'refused' in answer) throw refusedCall(toolName, answer.refused);
  if (!answer.ok) throw fail('toolpack.abi', `${cannot}: at "${answer.unsafe.path}" ${answer.unsafe.fact}`);
  const { value } = answer;
  if (!isRecord(value)) throw fail('toolpack.abi', `${cannot}: it is ${show(value)}, not an object`);
  const result = inOneForm(value, cannot);
  const problems = schema === undefined ? [] : await (await schemas.compile(schema))(structuredClone(result));
  if (problems.length > 0) {
    const list = problems.map(({ path, message }) => `${path || 'result'} ${message}`).join('; ');
    throw fail('output.schema', `${cannot}: ${list}`);
  }
  return result;
}

/** Equal results are equal bytes, whatever the order in which their fields were written. */
function inOneForm(value: JsonObject, cannot: string): Json {
  try {
    return JSON.parse(canonicalText(value));
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    throw fail('toolpack.abi', `${cannot}: ${thrown.message}`);
  }
}

/**
 * The second is asked about the same run as if it were another attempt: it hears what the first was answered, and what it
 * says and keeps goes nowhere.
 */
function askings(tool: string, attempt: ConductedAttempt): readonly [RunAsking, RunAsking] {
  const { id, ticket, args, checkpointed, signal } = attempt;
  const { runId, plan, carry } = ticket;
  const patienceMs = Math.min(plan.resources.wallMs, LONGEST_MS);
  const late = (): Failure =>
    fail(
      'time.deadline',
      `Cannot finish "${tool}": its run() took longer than ${patienceMs} ms, beside its program; the plan's wallMs, up to ${LONGEST_MS} ms, is what it has`,
      { timeout_ms: patienceMs },
    );
  const shared = { signal, patienceMs, late };
  const heard = new Map<string, Promise<unknown>>();
  return [
    {
      ...shared,
      input: { ...carry, runId, attemptId: id, args, checkpointed },
      reply(method, params) {
        const answer = answerFrom(RUN, method, params, attempt);
        if (ONCE.includes(method)) heard.set(keyOf(method, params), answer);
        return answer;
      },
    },
    {
      ...shared,
      input: { ...carry, runId, attemptId: `att_${sha256Hex(id)}`, args, checkpointed: null },
      async reply(method, params) {
        if (UNHEARD.includes(method)) return null;
        if (!ONCE.includes(method)) return answerFrom(RUN, method, params, attempt);
        const answer = heard.get(keyOf(method, params));
        if (answer) return answer;
        throw fail(
          'toolpack.unstable',
          `Cannot take the result of "${tool}": in another environment its run() asked for ${show([method, ...params])}, which it had not asked for before`,
        );
      },
    },
  ];
}

/** What changes the attempt happens when the first asks, and only then. */
const ONCE: readonly string[] = ['run.execute', 'run.link'];
const UNHEARD: readonly string[] = ['run.log', 'run.checkpoint'];

const keyOf = (method: string, params: readonly unknown[]): string =>
  JSON.stringify(method === 'run.link' ? [method, String(params[0])] : [method]);

const RUN: Replies<ConductedAttempt> = {
  'run.execute': (_params, attempt) => attempt.execute(),
  async 'run.link'([role], attempt) {
    const { artifact, size } = await attempt.link(String(role));
    return { artifactId: artifact, size };
  },
  async 'run.read'([role, maxBytes], attempt) {
    return Buffer.from(await attempt.read(String(role), readAmount(maxBytes, READ_OUTPUT))).toString();
  },
  'run.log': ([text], attempt) => attempt.log(String(text)),
  async 'run.checkpoint'([state], attempt) {
    if (!isRecord(state)) throw fail('toolpack.abi', 'Cannot keep the checkpoint: it is not an object');
    await attempt.checkpoint(state);
  },
};

type Replies<T> = {
  readonly [method: string]: (params: readonly unknown[], given: T) => Promise<unknown>;
};

async function answerFrom<T>(
  table: Replies<T>,
  method: string,
  params: readonly unknown[],
  given: T,
): Promise<unknown> {
  const found = Object.hasOwn(table, method) ? table[method] : undefined;
  if (found === undefined)
    throw fail('toolpack.abi', `Cannot answer "${method.slice(0, 80)}": there is no such question`);
  return found(params, given);
}

const READ_MOST = 8 * 1024 * 1024;

const readAmount = (given: unknown, usual: number): number =>
  typeof given === 'number' && given > 0 ? Math.min(given, READ_MOST) : usual;
