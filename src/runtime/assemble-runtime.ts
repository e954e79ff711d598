// Owns: putting the parts together into one runtime, and taking it down again.
// Refuses: naming a leaf, and state outside of the value that it returns.
import type { Effect } from '../contract/effect.ts';
import { checkFields, type KnownFields } from '../contract/envelope.ts';
import { fail } from '../contract/errors.ts';
import type { PolicyEngine } from '../contract/policy.ts';
import type { Runtime, RuntimeParts } from '../contract/runtime.ts';
import { ANY_CONNECTION } from '../contract/shell-effects.ts';
import type { AuditQuery } from '../contract/store.ts';
import { createPolicyEngine } from '../policy/create-policy-engine.ts';
import { createApprovals } from './approval.ts';
import { createCapabilities } from './capabilities.ts';
import { createContextMaker, createHistories, standingHandles } from './context.ts';
import { createPlace, extraRootsOf } from './identity.ts';
import { createInstallations } from './installations.ts';
import { type PipelineSite, runCall } from './pipeline.ts';
import { createPolicyKeeper } from './proof/keep-policy.ts';
import { createLateRows, shownError } from './record.ts';
import { createRegistry, type ListingSite, listTools } from './registry.ts';
import { createLazyRuns } from './runs/lazy-runs.ts';
import { createRunsHandles } from './runs/runs-handle.ts';
import { createSessions } from './session.ts';
import { createSpills } from './spills.ts';
import type { StandingWorks } from './standing.ts';

export async function assembleRuntime(parts: RuntimeParts): Promise<Runtime> {
  const registry = createRegistry(parts.tools, parts.schemas, parts.names, parts.explainMissing);
  const capabilities = createCapabilities(parts);
  let engine: PolicyEngine = await createPolicyEngine({ loaded: capabilities.protect(parts.policy) });
  const sessions = createSessions(parts, () => engine);
  const history = createHistories(parts.store);
  const place = createPlace(parts.root, () => extraRootsOf(engine.loaded));
  const installations = createInstallations({
    registry,
    spills: () => createSpills(parts),
    changed: () => parts.events.emit({ type: 'EventMessage', event: 'ToolsChanged', data: {} }),
  });
  const runs = createLazyRuns(parts, (request, options) => call(request, options));
  const underWay = new Set<Promise<unknown>>();
  let works: Promise<StandingWorks> | undefined;
  const site: PipelineSite = {
    parts,
    registry,
    sessions,
    effectSite: { ...capabilities.views, history, place },
    capabilities,
    makeContext: createContextMaker(
      parts,
      capabilities.handles,
      history,
      createRunsHandles({
        runs: runs.runtime,
        replay: runs.replay,
        tool: (id) => registry.get(id)?.tool,
        defaultSession: sessions.defaultId,
      }),
    ),
    replay: parts.replay ?? runs.replay,
    runs: runs.runtime,
    prepareSite: runs.prepareSite,
    chooseRun: runs.choose,
    keepPolicy: createPolicyKeeper(parts),
    late: createLateRows(parts.store.audit),
    isAlone: () => underWay.size <= 1,
    async standing(record, engine, stop) {
      works ??= import('./standing.ts').then(({ createStandingWorks }) => createStandingWorks(site));
      return (await works).begin(record, engine, stop);
    },
  };
  const listing: ListingSite = { registry, installations, effectSite: site.effectSite };
  const inFlight = await parts.store.audit.takeAbandoned(parts.clock.now());

  let isClosed = false;

  const call: Runtime['call'] = (request, options) => {
    // It would be answered, and nothing of it recorded.
    if (isClosed) return Promise.reject(fail('usage', 'Cannot call a tool: the runtime is closed'));
    const running = runCall(site, request, options);
    underWay.add(running);
    const done = () => underWay.delete(running);
    running.then(done, done);
    return running;
  };

  return {
    call,
    runs: runs.runtime,
    tool: (id) => registry.get(id)?.tool,
    named: (name) => registry.named(name)?.tool.id,
    tools: () => listTools(listing, engine),
    policy: {
      get current() {
        return engine;
      },
      async replace(loaded) {
        const next = createPolicyEngine({ loaded: capabilities.protect(loaded) });
        // A server may be on its way to a decision: what it asked to be loaded is not loaded of this one.
        await next.ready(STANDING);
        engine = next;
        await (await works)?.policyChanged();
      },
      explain: async (request, options) =>
        (await import('./explain-call.ts')).explainCall(site, request, options),
    },
    installations: {
      ...installations,
      explainMissing: registry.explainMissing,
      handlesFor: (installation) =>
        standingHandles(parts, capabilities.handles, () => engine, place, installation),
    },
    sessions: {
      ...sessions,
      async end(id) {
        await sessions.end(id);
        await (await works)?.sessionEnded(id);
      },
    },
    approvals: createApprovals(parts),
    audit: {
      ...parts.store.audit,
      async rows(query) {
        checkFields('look into the audit', query, AUDIT_QUERY);
        return parts.store.audit.rows(query);
      },
    },
    objects: parts.objects,
    defaultSession: sessions.defaultId,
    startup: { inFlight },
    subscribe: (listener) => parts.events.subscribe(listener),
    async close() {
      isClosed = true;
      runs.release();
      await (await works)?.close();
      await Promise.allSettled([...underWay]);
      // One of those may have begun another.
      await (await works)?.close();
      await runs.close();
      await installations.close();
      await capabilities.close();
      if (site.late.owes) await site.late.catchUp().catch((thrown) => shownError(parts, thrown));
      await parts.store.close();
    },
  };
}

/** What programs that serve many calls are decided by, between those calls. */
const STANDING: readonly Effect[] = [{ kind: 'exec', command: '*' }, ANY_CONNECTION];

const AUDIT_QUERY: KnownFields<AuditQuery> = {
  afterSeq: true,
  last: true,
  limit: true,
  tool: true,
  session: true,
  callId: true,
  runId: true,
  outcome: true,
};
