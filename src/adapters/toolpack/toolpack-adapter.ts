// Owns: how the tools of a toolpack are prepared and called: from arguments to a named run, and from there to its result.
// Refuses: whatever breaks a rule of the ABI, and artifacts that the arguments do not name.
import type { Adapter, Invocation } from '../../contract/adapter.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { Json, JsonObject, SchemaCompiler } from '../../contract/json.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { PreparedRun, PrepareSite, RunExecutor } from '../../contract/runs.ts';
import type { PackFiles } from '../../contract/toolpack.ts';
import { type CallProblem, checkCall } from './check-call.ts';
import { type Dialects, show } from './check-definition.ts';
import { answerFrom, conductRun, type Replies, readAmount } from './conduct-run.ts';
import { outputsOf, type ToolFields } from './contract-of.ts';
import { refusal as refusedCall, type Toolpack } from './toolpack.ts';

export interface ToolpackAdapterSite {
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
