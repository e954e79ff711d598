// Owns: the one way from the files of a toolpack to tools that a runtime can install: asked of its module in both processes, every rule of the ABI checked.
// Refuses: a pack with anything wrong in it, all told at once; and to start a process only to say again what is known of it.

import { canonicalText } from '../../base/canonical-json.ts';
import { sha256Hex } from '../../base/digest.ts';
import type { HandlesFor } from '../../contract/adapter.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { isFailure } from '../../contract/errors.ts';
import type { Json, JsonSchema, SchemaCompiler } from '../../contract/json.ts';
import type { Installation, LoadResult } from '../../contract/manifest.ts';
import type { RunExecutor } from '../../contract/runs.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import type { PackFiles } from '../../contract/toolpack.ts';
import { checkDefinition, type Described, type Dialects, type Finding, show } from './check-definition.ts';
import { contractOf, type ToolFields } from './contract-of.ts';
import { type Asking, openProcesses, type Toolpack } from './toolpack.ts';
import { createToolpackAdapter } from './toolpack-adapter.ts';
import type { ThrownPlace } from './where-thrown.ts';

export interface ToolpackSite {
  /** The sandbox that its processes run in. */
  readonly handlesFor: HandlesFor;
  readonly runs: RunExecutor;
  readonly schemas: SchemaCompiler;
  /** How plans are written, by the backend that they are for. */
  readonly dialects: Dialects;
  /** Definitions of packs that were asked before, by their digest. */
  readonly known?: KnownDefinitions | undefined;
  /** Ask its processes for every call, also for one that they agreed on before: who checks a pack wants to see it change its mind. */
  readonly askAlways?: boolean;
  readonly signal?: AbortSignal;
  /** Aborts when the pack is not open any more, or was opened for nothing. */
  readonly gone?: AbortSignal;
}

export interface KnownDefinitions {
  read(digest: string): readonly ToolFields[] | undefined;
  keep(digest: string, tools: readonly ToolFields[]): void;
}

const LOAD_MS = 20_000;

/** Installs with `runtime.installations.add(value)`. `name` is the installation's. */
export async function openToolpack(
  files: PackFiles,
  name: string,
  site: ToolpackSite,
): Promise<LoadResult<OpenPack>> {
  const installation: Installation = {
    name,
    origin: 'toolpack',
    digest: files.digest,
    config: {},
    enabled: true,
    health: { status: 'unverified', checkedTs: null },
  };
  const toolpack = openProcesses(files, {
    start: (program) => site.handlesFor(installation).exec.start(program),
  });
  site.gone?.addEventListener('abort', () => void toolpack.rest().catch(() => {}), { once: true });
  const { schemas, dialects } = site;
  const known = site.known?.read(files.digest);
  const signal = site.signal ?? AbortSignal.timeout(LOAD_MS);
  const loaded = known
    ? { tools: known, diagnostics: [] }
    : await loadToolpack(files, toolpack, site, signal);
  if (loaded.diagnostics.length > 0) {
    await toolpack.close();
    return { value: undefined, diagnostics: loaded.diagnostics };
  }
  const { tools } = loaded;
  if (!known) site.known?.keep(files.digest, tools);
  return {
    value: {
      installation,
      adapter: createToolpackAdapter({
        files,
        toolpack,
        canonicalize: site.askAlways ? toolpack.canonicalize : rememberCalls(toolpack.canonicalize),
        tools,
        runs: site.runs,
        schemas,
        dialects,
      }),
      tools: tools.map((fields) => ({
        contract: contractOf(fields, files.version),
        binding: {
          adapter: 'toolpack',
          target: { tool: fields.toolName, outputs: fields.declaredOutputs.map(({ role }) => role) },
        },
        pins: { code: files.digest },
      })),
    },
    diagnostics: [],
  };
}

interface LoadedToolpack {
  readonly tools: readonly ToolFields[];
  readonly diagnostics: readonly Diagnostic[];
}

async function loadToolpack(
  files: PackFiles,
  toolpack: Pick<Toolpack, 'describe'>,
  { schemas, dialects }: Pick<ToolpackSite, 'schemas' | 'dialects'>,
  signal: AbortSignal,
): Promise<LoadedToolpack> {
  const findings: Finding[] = [];
  const described = await describe(toolpack, signal, findings);
  for (const one of described) findings.push(...checkDefinition(one, dialects));
  findings.push(...duplicates(described));
  if (findings.length === 0) {
    for (const { fields } of described)
      findings.push(...(await checkSchemas(fields as unknown as ToolFields, schemas)));
  }
  const module = files.files.find(({ path }) => path === files.entry);
  const source = Buffer.from(module?.content ?? []).toString();
  return {
    tools: findings.length > 0 ? [] : described.map(({ fields }) => fields as unknown as ToolFields),
    diagnostics: findings.map((finding) => toDiagnostic(finding, files.entry, source)),
  };
}

async function describe(
  toolpack: Pick<Toolpack, 'describe'>,
  signal: AbortSignal,
  findings: Finding[],
): Promise<readonly Described[]> {
  try {
    const answer = await toolpack.describe(signal);
    if (answer.ok) return answer.value;
    if ('difference' in answer) {
      const { path, first, second } = answer.difference;
      const message = `what the module defines differs between two environments at "${path}": ${show(first)} and ${show(second)}`;
      findings.push({ code: 'definition.unstable', message });
    } else {
      const { path, fact } = 'unsafe' in answer ? answer.unsafe : answer.refused;
      findings.push({ code: 'definition.invalid', message: `at "${path}" ${fact}` });
    }
  } catch (thrown) {
    if (!isFailure(thrown) || thrown.reason !== 'toolpack.failed') throw thrown;
    const { file, line, column } = (thrown.details ?? {}) as Partial<ThrownPlace>;
    // The diagnostic says the place itself.
    findings.push({
      code: 'module.failed',
      message: thrown.message.replace(` (${file}:${line}:${column})`, ''),
      ...(file === undefined ? {} : { at: { file, line: line ?? 1, column: column ?? 1 } }),
    });
  }
  return [];
}

function duplicates(described: readonly Described[]): readonly Finding[] {
  const names = described.map(({ fields }) => fields.toolName);
  return names
    .filter((name, at) => typeof name === 'string' && names.indexOf(name) < at)
    .map((name) => ({
      code: 'name.duplicate',
      message: `two tools of the module are called "${name as string}"`,
    }));
}

async function checkSchemas(fields: ToolFields, schemas: SchemaCompiler): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const side of ['input', 'result'] as const) {
    const schema = fields[side] as JsonSchema | undefined;
    if (schema === undefined) continue;
    try {
      const check = await schemas.compile(schema);
      if (side !== 'input') continue;
      for (const { title, args } of fields.examples ?? []) {
        const problems = await check(structuredClone(args));
        for (const { path, message } of problems)
          findings.push({
            code: 'example.invalid',
            message: `${fields.toolName}: the example "${title}" does not fit: ${path} ${message}`,
            near: 'examples',
          });
      }
    } catch (thrown) {
      const message = `${fields.toolName}: ${side} is no JSON Schema: ${(thrown as Error).message}`;
      findings.push({ code: 'schema.invalid', message, near: side });
    }
  }
  return findings;
}

function toDiagnostic(finding: Finding, file: string, source: string): Diagnostic {
  const { code, message, hint, near } = finding;
  const at = near ? new RegExp(`\\b${near.replaceAll(/[^\w]/g, '.')}\\b`).exec(source)?.index : undefined;
  const before = source.slice(0, at ?? 0).split('\n');
  return {
    file,
    line: before.length,
    column: (before.at(-1) ?? '').length + 1,
    ...finding.at,
    code,
    severity: 'error',
    message,
    ...(hint ? { hint } : {}),
  };
}

interface Remembered {
  /** As JSON: nobody can change it for the next one. */
  readonly value: string;
  readonly grounds: readonly Ground[];
}

/** A question that was asked meanwhile, and what stands for its answer. */
interface Ground {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly answer: string;
}

const MOST = 1_000;
/** A longer one is asked again each time. */
const LONGEST = 64 * 1024;

export function rememberCalls(canonicalize: Toolpack['canonicalize']): Toolpack['canonicalize'] {
  const known = new Map<string, Remembered>();

  return async (tool, args, how) => {
    const key = keyOf(tool, args);
    const before = key === undefined ? undefined : known.get(key);
    if (before && (await stillHold(before.grounds, how.reply)))
      return { ok: true, value: JSON.parse(before.value) };
    const { grounds, reply } = noting(how.reply);
    const answer = await canonicalize(tool, args, { ...how, reply });
    const text = answer.ok ? JSON.stringify(answer.value) : undefined;
    if (key === undefined || text === undefined || text.length > LONGEST || grounds.includes('failed'))
      return answer;
    known.delete(key);
    known.set(key, { value: text, grounds: grounds as readonly Ground[] });
    if (known.size > MOST) known.delete(known.keys().next().value!);
    return answer;
  };
}

/** Undefined for arguments that have no canonical form, or a long one. */
function keyOf(tool: string, args: Json): string | undefined {
  try {
    const text = canonicalText(args);
    return text.length > LONGEST ? undefined : `${tool} ${text}`;
  } catch {
    return undefined;
  }
}

function noting(reply: Asking['reply']): {
  readonly grounds: readonly (Ground | 'failed')[];
  readonly reply: Asking['reply'];
} {
  const grounds: (Ground | 'failed')[] = [];
  return {
    grounds,
    async reply(method, params) {
      try {
        const answer = await reply(method, params);
        grounds.push({ method, params, answer: standFor(answer) });
        return answer;
      } catch (thrown) {
        grounds.push('failed');
        throw thrown;
      }
    },
  };
}

async function stillHold(grounds: readonly Ground[], reply: Asking['reply']): Promise<boolean> {
  const asked = grounds.map(
    async ({ method, params, answer }) => standFor(await reply(method, params)) === answer,
  );
  return (await Promise.all(asked).catch(() => [false])).every(Boolean);
}

const standFor = (answer: unknown): string => sha256Hex(JSON.stringify(answer) ?? '');
