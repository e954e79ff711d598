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
import { isFailure } from '../contract/errors.ts';
import { checkFields, type KnownFields } from '../contract/known-fields.ts';
import type { PolicyFile } from '../contract/policy.ts';
import type { RunParts } from '../contract/runs.ts';
import type { Clock, OpenPack, Runtime } from '../contract/runtime.ts';
import type { Store } from '../contract/store.ts';
import { type AnyTool, checkTools } from '../contract/tool.ts';
import { createSchemaCompiler } from '../loader/schema/schema-compiler.ts';
import { findFolder } from '../loader/workspace.ts';
import { RULES } from '../rules/index.ts';
import { createRuntime } from '../runtime/create-runtime.ts';
import { createEventBus } from '../runtime/events.ts';
import { createToolNames } from '../runtime/tool-names.ts';
import { openAuditHeads } from '../stores/machine/audit-heads.ts';
import { openObjectStore } from '../stores/objects/open-object-store.ts';
import { isAlive, processIdentity } from '../stores/process-identity.ts';
import { openSqliteStore } from '../stores/sqlite/open-sqlite-store.ts';
import { BUILTIN_TOOLS } from '../tools/index.ts';
import { adoptPolicy, closedPolicy, loadTrusted } from './adopt-policy.ts';
import { openProxy } from './open-proxy.ts';
import type { LockMode } from './packs/pack-site.ts';
import { createPacksOnDemand } from './packs/packs-on-demand.ts';
import { PRECOMPILED_CHECKS } from './precompiled-checks.ts';
import { givenTrust } from './trust/trust.ts';

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
  /**
   * SHA-256 in hex of a haft.yaml that whoever embeds this has reviewed: it holds for this runtime without `haft trust`.
   * HAFT_TRUST is heeded as well. A policy that neither these nor a person trusted fails with `policy.untrusted`.
   */
  readonly trust?: string | readonly string[];
  /** `closed`: with a policy that is not trusted nothing can be called, and what was recorded can be read. */
  readonly untrusted?: 'refuse' | 'closed';
}

export interface DefaultRuntime extends Runtime {
  /** The absolute workspace folder. */
  readonly workspace: string;
  /**
   * Reads haft.yaml again. Where it has errors the policy from before stays, and they are returned; so it does where it
   * grants more than was trusted, and `policy.untrusted` is thrown.
   */
  reloadPolicy(): Promise<readonly Diagnostic[]>;
  /** Takes over the packs that were added, removed, enabled or disabled, and what was accepted in haft.lock. */
  reloadPacks(): Promise<void>;
  /** Packs whose servers said, while they ran, that they have other tools: as they are now, accepted or not. */
  spokenPacks(): readonly OpenPack[];
  /** The artifacts of the workspace, for whoever answers for it: no policy is asked. */
  artifacts(): Promise<ArtifactStore>;
}

export async function createDefaultRuntime(options: DefaultRuntimeOptions = {}): Promise<DefaultRuntime> {
  checkFields('create a runtime', options, OPTIONS);
  const { tools = [], clock = SYSTEM_CLOCK, onWarning } = options;
  checkTools(tools);
  const root = findFolder(options.workspace ?? '.');
  const given = givenTrust(options.trust);
  const { policy, closed } = await startPolicy(root, given, options);
  const identity = processIdentity();
  const folder = `${root}/.haft`;
  const store = await openSqliteStore({
    folder,
    process: identity,
    clock,
    onProgress: (progress) => openAuditHeads({ env: process.env, workspace: root }).keep(progress),
    ...(onWarning ? { onWarning } : {}),
  });
  try {
    if (onWarning) warnOfHead(root, store, onWarning);
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
    const fs = createFsCapability({ isAlive });
    const http = createHttpCapability();
    const search = createSearchCapability({ files: fs });
    const exec = createExecCapability(openProxy, { self: identity, isAlive });
    const events = createEventBus();
    const names = createToolNames();
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
      names,
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
      names,
      onWarning,
      lock: closed ? 'ignore' : options.lock,
      fresh: options.freshPacks,
      packs: closed ? [] : options.packs,
      below: policy.outer !== undefined,
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
        const { value, diagnostics } = await loadTrusted(root, given);
        if (value) {
          await runtime.policy.replace(value);
          await packs.follow(value.file);
        }
        return diagnostics;
      },
      spokenPacks: packs.spoken,
      async reloadPacks() {
        // haft.lock may be another by now.
        await loadTrusted(root, given);
        await packs.follow(runtime.policy.current.loaded.file);
      },
    });
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}

const OPTIONS: KnownFields<DefaultRuntimeOptions> = {
  workspace: true,
  tools: true,
  clock: true,
  runs: true,
  onWarning: true,
  lock: true,
  freshPacks: true,
  packs: true,
  living: true,
  trust: true,
  untrusted: true,
};

/** Beside the start, which does not wait for it. That rows were lost is said once: the record then says so itself. */
function warnOfHead(root: string, { audit }: Store, onWarning: (message: string) => void): void {
  const look = async () => {
    const { checkKeptHead } = await import('./kept-head.ts');
    const { state, message, noted } = await checkKeptHead(root, audit);
    if (state !== 'holds' && state !== 'none' && !noted) onWarning(message);
  };
  // A store that cannot be read says so by itself.
  look().catch(() => {});
}

/** Calls that died on the way may have left temporary files beside what they were to change, and names held for programs. */
async function sweepAfter(runtime: Runtime, root: string): Promise<void> {
  const { inFlight } = runtime.startup;
  if (inFlight.length === 0) return;
  const { sweepPlaceholders } = await import('../capabilities/exec/fences/placeholders.ts');
  sweepPlaceholders(root, { self: processIdentity(), isAlive });
  const { foldersOf, sweepTemps } = await import('../capabilities/fs/sweep-temps.ts');
  await sweepTemps(root, foldersOf(inFlight.flatMap((row) => row.changes.map((change) => change.path))));
}

async function startPolicy(
  root: string,
  given: readonly string[],
  { onWarning, untrusted }: DefaultRuntimeOptions,
) {
  try {
    const { policy, diagnostics } = await adoptPolicy(root, given);
    for (const one of diagnostics) onWarning?.(formatDiagnostic(one));
    return { policy, closed: false };
  } catch (thrown) {
    if (untrusted !== 'closed' || !isFailure(thrown) || thrown.reason !== 'policy.untrusted') throw thrown;
    return { policy: closedPolicy(root), closed: true };
  }
}

const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  // `performance.now()` would load a dozen modules at the first call.
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  },
};
