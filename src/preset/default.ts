// Owns: the runtime that everybody uses: SQLite in .haft/, the builtin tools, haft.yaml of the workspace.
// Refuses: to start with a policy that has an error.
import { newId } from '../base/new-id.ts';
import { createArtifactsCapability } from '../capabilities/artifacts/capability.ts';
import { createExecCapability } from '../capabilities/exec/capability.ts';
import { createFsCapability } from '../capabilities/fs/handle.ts';
import { createHttpCapability } from '../capabilities/http/handle.ts';
import { createProcessHandle } from '../capabilities/processes/handle.ts';
import { createSearchCapability } from '../capabilities/search/capability.ts';
import type { ArtifactStore } from '../contract/artifacts.ts';
import { type Diagnostic, formatDiagnostic } from '../contract/diagnostic.ts';
import { fail } from '../contract/errors.ts';
import type { PolicyFile } from '../contract/policy.ts';
import type { RunParts } from '../contract/runs.ts';
import type { Clock, OpenPack, Runtime } from '../contract/runtime.ts';
import type { AnyTool } from '../contract/tool.ts';
import { createSchemaCompiler } from '../loader/schema/schema-compiler.ts';
import { findFolder } from '../loader/workspace.ts';
import { RULES } from '../rules/index.ts';
import { createRuntime } from '../runtime/create-runtime.ts';
import { createEventBus } from '../runtime/events.ts';
import { openObjectStore } from '../stores/objects/open-object-store.ts';
import { processIdentity } from '../stores/process-identity.ts';
import { openSqliteStore } from '../stores/sqlite/open-sqlite-store.ts';
import { BUILTIN_TOOLS } from '../tools/index.ts';
import { loadPolicy } from './load-policy.ts';
import { openProxy } from './open-proxy.ts';
import type { LockMode } from './packs/pack-site.ts';
import { createPacksOnDemand } from './packs/packs-on-demand.ts';
import { PRECOMPILED_CHECKS } from './precompiled-checks.ts';

export interface DefaultRuntimeOptions {
  /** The workspace folder; the current one by default. */
  readonly workspace?: string;
  /** Tools of the embedding program, beside the builtin ones. */
  readonly tools?: readonly AnyTool[];
  readonly clock?: Clock;
  /** Changes where runs are executed. */
  readonly runs?: (usual: RunParts) => RunParts;
  /** Told what was not as it should be and did not stop the start. */
  readonly onWarning?: (message: string) => void;
  /** What `haft.lock` is to the tools of packs; `hold` by default. */
  readonly lock?: LockMode;
  /** Asks the servers of packs for their tools, also where they are known. */
  readonly freshPacks?: boolean;
  /** Instead of those that haft.yaml names and those that were added. */
  readonly packs?: PolicyFile['packs'];
  /** This process stays: servers of packs that are not there yet are looked for. */
  readonly living?: boolean;
}

export interface DefaultRuntime extends Runtime {
  /** The absolute workspace folder. */
  readonly workspace: string;
  /** Reads haft.yaml again. Where it has errors the policy from before stays, and they are returned. */
  reloadPolicy(): Promise<readonly Diagnostic[]>;
  /** Takes over the packs that were added, removed, enabled or disabled, and what was accepted in haft.lock. */
  reloadPacks(): Promise<void>;
  /** Packs whose servers said, while they ran, that they have other tools: as they are now, accepted or not. */
  spokenPacks(): readonly OpenPack[];
  /** The artifacts of the workspace, for whoever answers for it: no policy is asked. */
  artifacts(): Promise<ArtifactStore>;
}

export async function createDefaultRuntime(options: DefaultRuntimeOptions = {}): Promise<DefaultRuntime> {
  const { tools = [], clock = SYSTEM_CLOCK, onWarning } = options;
  const root = findFolder(options.workspace ?? '.');
  const policy = await startPolicy(root, onWarning);
  const identity = processIdentity();
  const folder = `${root}/.haft`;
  const store = await openSqliteStore({
    folder,
    process: identity,
    clock,
    ...(onWarning ? { onWarning } : {}),
  });
  try {
    const objects = openObjectStore({
      folder: `${folder}/objects`,
      process: identity,
      small: store.smallObjects,
      uses: store.objectUses,
    });
    const artifacts = async () => {
      const { openArtifactStore } = await import('../stores/artifacts/open-artifact-store.ts');
      return openArtifactStore({ objects, rows: store.artifacts, clock });
    };
    const fs = createFsCapability();
    const http = createHttpCapability();
    const search = createSearchCapability({ files: fs });
    const exec = createExecCapability(openProxy);
    const events = createEventBus();
    const runtime = await createRuntime({
      root,
      policy,
      checkRegistry: async (registry) => {
        const { checkPolicyObject } = await import('../loader/haft-yaml/check-policy-object.ts');
        return checkPolicyObject(registry);
      },
      tools: [
        ...BUILTIN_TOOLS.map((tool) => ({ tool, origin: 'builtin' })),
        ...tools.map((tool) => ({ tool, origin: 'embedded' })),
      ],
      rules: RULES,
      followers: [],
      store,
      objects,
      capabilities: {
        fs,
        exec: exec.open,
        http: http.open,
        search: search.open,
        processes: createProcessHandle,
        artifacts: createArtifactsCapability({ store: artifacts, files: fs }),
      },
      schemas: createSchemaCompiler(PRECOMPILED_CHECKS),
      events,
      clock,
      newId,
      process: identity,
      async runs() {
        const { createRunParts } = await import('./runs/run-parts.ts');
        const usual = await createRunParts({
          folder,
          artifacts: await artifacts(),
          process: identity,
          policy: () => runtime.policy.current.host,
          env: process.env,
          alert: (message) => onWarning?.(message),
        });
        return options.runs ? options.runs(usual) : usual;
      },
    });
    await sweepAfter(runtime, root);
    const { close } = runtime;
    const closeAll = async () => {
      await packs.close();
      await close();
      search.close();
      await exec.close();
      await http.close();
    };
    const packs = createPacksOnDemand({
      runtime,
      events,
      clock,
      root,
      store,
      onWarning,
      lock: options.lock,
      fresh: options.freshPacks,
      packs: options.packs,
      living: options.living,
    });
    await packs.follow(policy.file).catch(async (thrown) => {
      await closeAll();
      throw thrown;
    });
    return Object.assign(runtime, {
      workspace: root,
      artifacts,
      close: closeAll,
      async reloadPolicy() {
        const { value, diagnostics } = await loadPolicy(root);
        if (value) {
          await runtime.policy.replace(value);
          await packs.follow(value.file);
        }
        return diagnostics;
      },
      spokenPacks: packs.spoken,
      reloadPacks: () => packs.follow(runtime.policy.current.loaded.file),
    });
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}

/** Calls that died on the way may have left temporary files beside what they were to change. */
async function sweepAfter(runtime: Runtime, root: string): Promise<void> {
  const { inFlight } = runtime.startup;
  if (inFlight.length === 0) return;
  const { foldersOf, sweepTemps } = await import('../capabilities/fs/sweep-temps.ts');
  await sweepTemps(root, foldersOf(inFlight.flatMap((row) => row.changes.map((change) => change.path))));
}

async function startPolicy(root: string, onWarning: DefaultRuntimeOptions['onWarning']) {
  const { value, diagnostics } = await loadPolicy(root);
  const lines = diagnostics.map(formatDiagnostic);
  if (!value) throw fail('policy.invalid', `Cannot start: haft.yaml has problems\n${lines.join('\n')}`);
  for (const line of lines) onWarning?.(line);
  return value;
}

const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  // `performance.now()` would load a dozen modules at the first call.
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  },
};
