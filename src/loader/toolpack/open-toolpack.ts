// Owns: the one way from a toolpack's folder to tools that a runtime can install.
// Refuses: a pack that breaks the ABI, and to start a process only to say again what is known of a pack that did not change.
import type { HandlesFor } from '../../contract/adapter.ts';
import type { SchemaCompiler } from '../../contract/json.ts';
import type { Installation, LoadResult } from '../../contract/manifest.ts';
import type { RunExecutor } from '../../contract/runs.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import { lockedFiles } from '../code/locked-files.ts';
import { readOwnCache, writeOwnCache } from '../own-cache.ts';
import { contractOf, type ToolFields } from './contract-of.ts';
import { loadToolpack } from './load-toolpack.ts';
import { readPackFiles } from './pack-files.ts';
import { rememberCalls } from './remember-calls.ts';
import { openProcesses } from './toolpack.ts';
import { createToolpackAdapter } from './toolpack-adapter.ts';

export interface ToolpackSite {
  /** The sandbox that its processes run in. */
  readonly handlesFor: HandlesFor;
  readonly runs: RunExecutor;
  readonly schemas: SchemaCompiler;
  /** Where known definitions are kept, two levels below the state folder. Absent: nowhere. */
  readonly cacheFolder?: string;
  /** Ask its processes for every call, also for one that they agreed on before: who checks a pack wants to see it change its mind. */
  readonly askAlways?: boolean;
  readonly signal?: AbortSignal;
  /** Aborts when the pack is not open any more, or was opened for nothing. */
  readonly gone?: AbortSignal;
}

/** To be counted up whenever a definition that was good would now be read otherwise or refused. */
const FORMAT = 1;
const LOAD_MS = 20_000;

/** Installs with `runtime.installations.add(value)`. `name` is the installation's. */
export async function openToolpack(
  folder: string,
  name: string,
  site: ToolpackSite,
): Promise<LoadResult<OpenPack>> {
  const files = readPackFiles(folder);
  if (!('digest' in files)) return { value: undefined, diagnostics: files };
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
  const { cacheFolder, schemas } = site;
  const known =
    cacheFolder === undefined
      ? undefined
      : readOwnCache<readonly ToolFields[]>(cacheFolder, files.digest, FORMAT);
  const signal = site.signal ?? AbortSignal.timeout(LOAD_MS);
  const loaded = known
    ? { tools: known, diagnostics: [] }
    : await loadToolpack(files, toolpack, schemas, signal);
  if (loaded.diagnostics.length > 0) {
    await toolpack.close();
    return { value: undefined, diagnostics: loaded.diagnostics };
  }
  const { tools } = loaded;
  if (!known && cacheFolder !== undefined) writeOwnCache(cacheFolder, files.digest, FORMAT, tools);
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
      }),
      tools: tools.map((fields) => ({
        contract: contractOf(fields, files.version),
        binding: {
          adapter: 'toolpack',
          target: { tool: fields.toolName, outputs: fields.declaredOutputs.map(({ role }) => role) },
        },
        pins: { code: files.digest },
      })),
      files: lockedFiles(files),
    },
    diagnostics: [],
  };
}
