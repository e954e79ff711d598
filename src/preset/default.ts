// Owns: the runtime that everybody uses: SQLite in .haft/, the builtin tools, haft.yaml of the workspace.
// Refuses: to start with a policy that has an error.
import { newId } from '../base/new-id.ts';
import { createRealNames } from '../capabilities/fs/real-names.ts';
import type { ArtifactStore } from '../contract/artifacts.ts';
import type { Capability } from '../contract/capability.ts';
import { type Diagnostic, formatDiagnostic } from '../contract/diagnostic.ts';
import { type CallRequest, checkFields, type KnownFields } from '../contract/envelope.ts';
import { isFailure } from '../contract/errors.ts';
import type { HealthMonitor } from '../contract/health.ts';
import type { JsonObject } from '../contract/json.ts';
import type { CleanUpOptions, HostRuntime } from '../contract/operation-handles.ts';
import type { LoadedPolicy, PolicyFile } from '../contract/policy.ts';
import type { RunParts } from '../contract/runs.ts';
import type { Clock, OpenPack, Runtime } from '../contract/runtime.ts';
import type { RetentionStore, Store } from '../contract/store.ts';
import { type AnyTool, checkTools } from '../contract/tool.ts';
import { createSchemaCompiler } from '../loader/schema/schema-compiler.ts';
import { findFolder } from '../loader/workspace.ts';
import { RULES } from '../rules/index.ts';
import { assembleRuntime } from '../runtime/assemble-runtime.ts';
import { SYSTEM_CLOCK } from '../runtime/limits.ts';
import { createEventBus } from '../runtime/record.ts';
import { createToolNames } from '../runtime/registry.ts';
import { openAuditHeads } from '../stores/machine/audit-heads.ts';
import { lazyObjectStore } from '../stores/objects/lazy-object-store.ts';
import { isAlive, processIdentity } from '../stores/process-identity.ts';
import { openSqliteStore } from '../stores/sqlite/open-sqlite-store.ts';
import { BUILTIN_TOOLS } from '../tools/index.ts';
import { adoptPolicy, closedPolicy, isClosed, loadTrusted } from './adopt-policy.ts';
import { defaultCapabilities } from './capabilities.ts';
import type { Housekeeping, HousekeepingParts } from './housekeeping.ts';
import { withNeighbourLocks } from './neighbour-locks.ts';
import type { LockMode } from './packs/pack-site.ts';
import { createPacksOnDemand } from './packs/packs-on-demand.ts';
import { PRECOMPILED_CHECKS } from './precompiled-checks.ts';
import type { CleanUpSite } from './retention.ts';
import type { NamedCallOptions, TypedCall } from './tool-calls.ts';
import { givenTrust } from './trust/trust.ts';

export interface DefaultRuntimeOptions {
  /** The workspace folder; the current one by default. */
  readonly workspace?: string;
  /** Tools of the embedding program, beside the builtin ones. */
  readonly tools?: readonly AnyTool[];
  /** Capabilities of the embedding program, beside the builtin ones: what its tools find as `ctx.NAME`. */
  readonly capabilities?: readonly Capability[];
  readonly clock?: Clock;
  /** Changes where runs are executed. */
  readonly runs?: (usual: RunParts) => RunParts;
  /** Told what was not as it should be and did not stop the start. */
  readonly onWarning?: (message: string) => void;
  /** Starts without the packs that are wrong, and is told of each. Without it a pack that is wrong keeps it from starting. */
  readonly onBrokenPack?: (message: string) => void;
  /** What `haft.lock` is to the tools of packs; `hold` by default. */
  readonly lock?: LockMode;
  /** Asks the servers of packs for their tools, also where they are known. */
  readonly freshPacks?: boolean;
  /** Instead of those that haft.yaml names and those that were added. */
  readonly packs?: PolicyFile['packs'];
  /**
   * How long the start waits for servers of packs that nobody has asked for their tools yet; 5000 by default. Those that
   * need longer are asked by the first call that needs them.
   */
  readonly serversMs?: number;
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

export interface DefaultRuntime extends HostRuntime {
  /**
   * The one call: `call('file_read', { path })`, or `call({ tool, args, sessionId, requestId })`. Never throws for what a
   * caller, a tool or the machine did: see `ok` and `errors`.
   */
  readonly call: TypedCall;
  /**
   * Reads haft.yaml again. Where it has errors the policy from before stays, and they are returned; so it does where it
   * grants more than was trusted, and `policy.untrusted` is thrown.
   */
  reloadPolicy(): Promise<readonly Diagnostic[]>;
  /** Takes over the packs that were added, removed, enabled or disabled, and what was accepted in haft.lock. */
  reloadPacks(): Promise<void>;
  /** Packs whose servers said, while they ran, that they have other tools: as they are now, accepted or not. */
  spokenPacks(): readonly OpenPack[];
  /** By name: why a pack is not what its folder holds by now. What held before goes on. */
  packProblems(): ReadonlyMap<string, string>;
  /** What watches the packs; undefined where there are none. */
  packHealth(): HealthMonitor | undefined;
}

/** `state` is the state folder, where it is another than `.haft`: of who only looks. */
export async function createDefaultRuntime(
  options: DefaultRuntimeOptions = {},
  state?: string,
): Promise<DefaultRuntime> {
  checkFields('create a runtime', options, OPTIONS);
  const { tools = [], capabilities = [], clock = SYSTEM_CLOCK, onWarning } = options;
  checkTools(tools);
  if (options.capabilities !== undefined)
    (await import('./check-capabilities.ts')).checkCapabilities(options.capabilities);
  const root = findFolder(options.workspace ?? '.');
  const given = givenTrust(options.trust);
  const { policy, closed } = await startPolicy(root, given, options);
  const identity = processIdentity();
  const folder = state ?? `${root}/.haft`;
  const opened = await openSqliteStore({
    folder,
    process: identity,
    clock,
    onProgress: (progress) => openAuditHeads({ env: process.env, workspace: root }).keep(progress),
    ...(onWarning ? { onWarning } : {}),
  });
  let current = () => policy;
  const store = withNeighbourLocks(opened, { root, process: identity, clock, policy: () => current() });
  try {
    if (onWarning) warnOfHead(root, store, onWarning);
    const objects = lazyObjectStore({
      folder: `${folder}/objects`,
      process: identity,
      small: store.smallObjects,
      uses: store.objectUses,
    });
    const artifacts = async () => {
      const { openArtifactStore } = await import('../stores/artifacts/open-artifact-store.ts');
      const opened = openArtifactStore({ objects, rows: store.artifacts, clock });
      return { ...opened, sweep: givingUp(opened.sweep, store.retention, clock) };
    };
    const events = createEventBus();
    const names = createToolNames();
    const runtime = await assembleRuntime({
      root,
      policy,
      checkRegistry: async (registry) => {
        const { checkPolicyObject } = await import('../loader/haft-yaml/check-policy.ts');
        return checkPolicyObject(registry);
      },
      tools: [
        ...BUILTIN_TOOLS.map((tool) => ({ tool, origin: 'builtin' })),
        ...tools.map((tool) => ({ tool, origin: 'embedded' })),
      ],
      rules: RULES,
      store,
      objects,
      capabilities: [...defaultCapabilities({ process: identity, artifacts }), ...capabilities],
      async scanTree(roots) {
        const { scanTree } = await import('../capabilities/fs/scan-tree.ts');
        return scanTree(roots);
      },
      realNames: createRealNames(),
      schemas: createSchemaCompiler(PRECOMPILED_CHECKS),
      events,
      names,
      async explainMissing(id) {
        // What is only tried out is not what the workspace has.
        if (closed || options.packs) return undefined;
        const { explainClosed } = await import('./packs/closed-packs.ts');
        return explainClosed(id, { root, policy: runtime.policy.current.loaded, store, names });
      },
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
    current = () => runtime.policy.current.loaded;
    await sweepAfter(runtime, root);
    const { call, close } = runtime;
    const cleaning: CleanUpSite = {
      retention: store.retention,
      artifacts,
      clock,
      policy: () => (isClosed(runtime.policy.current.loaded) ? undefined : runtime.policy.current.host),
    };
    const house = options.living
      ? startHousekeeping({
          ...cleaning,
          head: async () => (await store.audit.head()).count,
          onWarning: onWarning ?? (() => {}),
        })
      : undefined;
    const closeAll = async () => {
      await house?.close();
      await packs.close();
      await close();
    };
    const packs = createPacksOnDemand({
      runtime,
      events,
      clock,
      root,
      store,
      names,
      onWarning,
      onBroken: options.onBrokenPack,
      lock: closed ? 'ignore' : options.lock,
      fresh: options.freshPacks,
      packs: closed ? [] : options.packs,
      trusted: () => loadTrusted(root, given),
      opened: () => protectBeside(runtime, root),
      below: policy.outer !== undefined,
      living: options.living,
    });
    await packs.follow(policy.file).catch(async (thrown) => {
      await closeAll();
      throw thrown;
    });
    await runtime.installations.settle(options.serversMs === undefined ? {} : { ms: options.serversMs });
    return Object.assign(runtime, {
      call: byName(call),
      workspace: root,
      packs: packs.states,
      packHealth: () => packs.health,
      artifacts,
      async cleanUp(how: CleanUpOptions = {}) {
        const { cleanUp } = await import('./retention.ts');
        return cleanUp(cleaning, how);
      },
      async sizes() {
        const { measureState } = await import('../stores/measure-state.ts');
        return measureState({ folder, store, objects, artifacts });
      },
      close: closeAll,
      async reloadPolicy() {
        const { value, diagnostics } = await loadTrusted(root, given);
        if (value) {
          await runtime.policy.replace(withBeside(value, runtime, root));
          await packs.follow(value.file);
        }
        return diagnostics;
      },
      spokenPacks: packs.spoken,
      packProblems: packs.problems,
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

/** A name is a request that is written shorter. */
function byName(call: Runtime['call']): TypedCall {
  const made = (first: string | CallRequest, second?: object, given?: NamedCallOptions) => {
    if (typeof first !== 'string') return call(first, second);
    const { requestId, sessionId, ...options } = given ?? {};
    return call({ tool: first, args: second as JsonObject, requestId, sessionId }, options);
  };
  return made as TypedCall;
}

const OPTIONS: KnownFields<DefaultRuntimeOptions> = {
  workspace: true,
  tools: true,
  capabilities: true,
  clock: true,
  runs: true,
  onWarning: true,
  onBrokenPack: true,
  lock: true,
  freshPacks: true,
  packs: true,
  serversMs: true,
  living: true,
  trust: true,
  untrusted: true,
};

/** What packs are made of beside their folders is read-only to tools, as their folders are. */
async function protectBeside(runtime: Runtime, root: string): Promise<void> {
  const { loaded } = runtime.policy.current;
  const next = withBeside(loaded, runtime, root);
  if (String(next.resolved?.beside ?? []) !== String(loaded.resolved?.beside ?? []))
    await runtime.policy.replace(next);
}

function withBeside(loaded: LoadedPolicy, { installations }: Runtime, workspace: string): LoadedPolicy {
  const beside = [...new Set(installations.all().flatMap((pack) => pack.beside ?? []))].sort();
  if (beside.length === 0 && !loaded.resolved?.beside) return loaded;
  return { ...loaded, resolved: { workspace, extraRoots: [], packs: [], ...loaded.resolved, beside } };
}

/** A sweep that ends undo of old calls says so first, so that an undo knows why it cannot. */
const givingUp =
  (sweep: ArtifactStore['sweep'], retention: RetentionStore, clock: Clock): ArtifactStore['sweep'] =>
  async (how) => {
    const { undoForMs, dryRun = false } = how;
    if (undoForMs === undefined || !Number.isFinite(undoForMs)) return sweep(how);
    const keep = { since: clock.now() - undoForMs, bytes: Number.POSITIVE_INFINITY };
    const { upTo } = await retention.giveUp(keep, { dryRun });
    return sweep({ undoAfter: upTo, ...how });
  };

/** Not before clients got their first answers. */
const HOUSEKEEPING_AFTER_MS = 2000;

function startHousekeeping(parts: HousekeepingParts): Housekeeping {
  let house: Promise<Housekeeping> | undefined;
  const timer = setTimeout(() => {
    house = import('./housekeeping.ts').then(({ keepHouse }) => keepHouse(parts));
    house.catch(() => {});
  }, HOUSEKEEPING_AFTER_MS).unref();
  return {
    async close() {
      clearTimeout(timer);
      await (await house)?.close();
    },
  };
}

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
