// Owns: the handles that operations work with, each wired to what this build has and loaded when it is first used.
// Refuses: to know any operation.
import { resolve } from 'node:path';
import { createTurns, type InTurn } from '../base/turns.ts';
import { formatDiagnostic } from '../contract/diagnostic.ts';
import { fail, type Reason, toErrorEntry } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Operation, OperationSite } from '../contract/operation.ts';
import type { PolicyHandles, TrustHandles, TrustQuestion } from '../contract/operation-handles.ts';
import { hasState } from '../loader/workspace.ts';
import type { FindTools } from '../runtime/tool-search/create-tool-search.ts';
import type { DefaultRuntime } from './default.ts';
import type { WorkspacePacks } from './packs/workspace-packs.ts';

/** What a door says of who asks. */
export type Asking = Pick<
  OperationSite,
  'workspace' | 'by' | 'frozen' | 'signal' | 'watched' | 'say' | 'progress'
> & {
  runtime(): Promise<DefaultRuntime>;
  /** It only looks: where there is no `.haft` none is made. */
  readonly looks?: boolean;
};

/** Of a host that lives: what is changed holds there at once, and files are named from the workspace, in it. */
export interface LivingSite {
  readonly inTurn: InTurn;
  finder?: Promise<FindTools>;
}

export const createLivingSite = (): LivingSite => ({ inTurn: createTurns() });

export function operationSite(asking: Asking, living?: LivingSite): OperationSite {
  const { by, frozen, runtime } = asking;
  /** Some need no workspace, and it is looked for when it is asked for. */
  const at = () => asking.workspace;
  /** The audit of the runtime, where one is open: then its row is in the same order. */
  let opened: Promise<DefaultRuntime> | undefined;
  const open = () => {
    opened ??= runtime();
    return opened;
  };
  const packs = async <T>(use: (packs: WorkspacePacks) => Promise<T>, looks = false): Promise<T> => {
    const { withWorkspacePacks } = await import('./packs/workspace-packs.ts');
    return withWorkspacePacks(at(), use, { frozen, by, looks });
  };
  /** What was asked for is done by then. Where another pack has a problem, the log of the host says so. */
  const takeOver = async () => {
    if (living) await (await open()).reloadPacks().catch(() => {});
  };
  const change = <T>(use: (packs: WorkspacePacks) => Promise<T>): Promise<T> => {
    const work = async () => {
      const answer = await packs(use);
      await takeOver();
      return answer;
    };
    return living ? living.inTurn(work) : work();
  };
  return {
    get workspace() {
      return at();
    },
    by,
    frozen,
    /** Whoever asks for it means to end in order: until then Ctrl-C ends the process. */
    get signal() {
      return asking.signal;
    },
    watched: asking.watched,
    say: asking.say,
    progress: asking.progress,
    async record(action, facts, error) {
      // Looking makes no state, and a look that fails makes none either.
      if (error && asking.looks && !hasState(at())) return;
      const { recordManagement } = await import('./record-management.ts');
      // Who only looks may have opened a state that is gone with it.
      const live = living ? open() : asking.looks ? undefined : opened;
      const audit = live && (await live).audit;
      await recordManagement(at(), { action, by, facts, ...(error ? { error } : {}) }, audit);
    },
    runtime: open,
    async findTool(id) {
      const { findListing } = await import('../runtime/find-listing.ts');
      return findListing(await open(), id);
    },
    async searchTools(words, limit) {
      const site: LivingSite = living ?? createLivingSite();
      site.finder ??= import('../runtime/tool-search/create-tool-search.ts').then(({ createToolFinder }) =>
        createToolFinder(),
      );
      const live = await open();
      await live.installations.settle();
      return (await site.finder)(live.tools(), words, limit);
    },
    unnamedPacks: async () => (await import('./adopt-policy.ts')).tellUnnamedPacks(at()),
    packs: {
      list: () => packs((all) => all.list(), true),
      show: (name) => packs((all) => all.show(name), true),
      add: (name, entry) => change((all) => all.add(name, entry)),
      configure: (name, config) => change((all) => all.configure(name, config)),
      remove: (name) => change((all) => all.remove(name)),
      enable: (name, enabled) => change((all) => all.enable(name, enabled)),
      async log(name, most) {
        const { readPackLog } = await import('../loader/pack-log.ts');
        return readPackLog(`${at()}/.haft`, name, most);
      },
      async health(wanted) {
        const { lookAtPacks } = await import('./packs/look-at-packs.ts');
        return lookAtPacks(await open(), wanted, asking.signal);
      },
      async lock(step, shown) {
        const { lockWorkspace } = await import('./packs/lock-workspace.ts');
        const { describeDrift } = await import('../loader/lock/describe-drift.ts');
        const onWarning = (message: string) => asking.say(`haft: ${message}\n`);
        const live = living ? (await open()).spokenPacks() : [];
        const report = await lockWorkspace(at(), step, { shown, live, by, onWarning });
        if (report.written) await takeOver();
        return { ...report, lines: report.drifts.map(describeDrift) };
      },
    },
    credentials: async (use) =>
      (await import('./open-credentials.ts')).withCredentials(at(), use, asking.looks),
    credentialNeeds: async () => (await import('./packs/check-packs.ts')).credentialNeeds(at()),
    trust: trustHandles(at),
    policies: policyHandles(at, open, living !== undefined),
    proofs: {
      async *bundle(runId) {
        yield* (await import('./prove.ts')).exportRun(await open(), runId);
      },
      sign: async () => (await import('./prove.ts')).signAudit(await open(), at()),
      check: async (note) => void (await (await import('./prove.ts')).checkAudit(await open(), note, at())),
      keptHead: async () => (await import('./kept-head.ts')).checkKeptHead(at(), (await open()).audit),
      acceptHead: async () => (await import('./kept-head.ts')).acceptHead(at(), (await open()).audit),
    },
    hasState: async () => hasState(at()),
    backendNames: async () => (await import('./runs/choose-place.ts')).BACKEND_NAMES,
    diagnose: async () => (await import('./diagnose.ts')).diagnose(at()),
  };
}

/** The work of an operation, at every door: what was to change something and failed is in the audit as well. */
export async function perform(
  operation: Operation,
  args: Readonly<Record<string, unknown>>,
  site: OperationSite,
): Promise<unknown> {
  const work = async () => operation.run(args, site);
  if (!operation.changes) return work();
  const failed = async (thrown: unknown): Promise<never> => {
    const { code, reason } = toErrorEntry(thrown);
    // What nobody trusts is not opened for it either. The failure itself is what has to be told.
    if (!UNTRIED.includes(reason))
      await site
        .record(`haft ${operation.id.replace('.', ' ')}`, namesIn(operation, args), { code, reason })
        .catch(() => {});
    throw thrown;
  };
  const value: unknown = await work().catch(failed);
  return (operation.answers ?? 'json') === 'json' ? value : watched(value as AsyncIterable<unknown>, failed);
}

/** Refused before anything was tried. */
const UNTRIED: readonly Reason[] = ['usage', 'policy.untrusted'];

async function* watched(values: AsyncIterable<unknown>, failed: (thrown: unknown) => Promise<never>) {
  try {
    yield* values;
  } catch (thrown) {
    await failed(thrown);
  }
}

const LONGEST_NAME = 200;

/** What it was asked to change, by name. All else that is given may hold a secret. */
const namesIn = (operation: Operation, args: Readonly<Record<string, unknown>>): JsonObject =>
  Object.fromEntries(
    Object.entries(operation.args).flatMap(([name, { positional, secret }]) => {
      const value = args[name];
      return positional && !secret && typeof value === 'string' ? [[name, value.slice(0, LONGEST_NAME)]] : [];
    }),
  );

function trustHandles(at: () => string): TrustHandles {
  const load = () => import('./trust/trust-question.ts');
  let asked: Promise<TrustQuestion> | undefined;
  return {
    question() {
      // Once: what is kept is what was shown, whatever lies there by then.
      asked ??= load().then(({ trustQuestion }) => trustQuestion(at()));
      return asked;
    },
    list: async () => (await load()).listTrust(at()),
    revoke: async () => (await load()).revokeTrust(at()),
  };
}

function policyHandles(
  at: () => string,
  open: () => Promise<DefaultRuntime>,
  isLiving: boolean,
): PolicyHandles {
  const load = async (file: string | undefined) => {
    const { loadPolicy } = await import('./load-policy.ts');
    if (!isLiving || file === undefined) return loadPolicy(at(), file);
    const { leadsWithin } = await import('../loader/is-within.ts');
    const place = resolve(at(), file);
    if (!leadsWithin(place, at()))
      throw fail('path.outside_workspace', 'Cannot read the policy: name a file of the workspace');
    return loadPolicy(at(), place);
  };
  const engines = () => import('../policy/create-policy-engine.ts');
  return {
    async check(file) {
      const { belowOuter } = await import('./adopt-policy.ts');
      const own = await load(file);
      const { value, diagnostics: said } = file === undefined ? await belowOuter(at(), own) : own;
      const hasPacks = (own.value?.file.packs ?? []).length > 0;
      const wrong =
        own.value && hasPacks
          ? await (await import('./packs/check-packs.ts')).checkPacks(at(), own.value, file)
          : [];
      return {
        ok: value !== undefined && wrong.length === 0,
        diagnostics: [...said, ...wrong],
        name: value?.name,
      };
    },
    async diff() {
      const { diffPolicy } = await import('./trust/trust-question.ts');
      const { describeChange } = await import('../policy/compare-policies.ts');
      const found = await diffPolicy(at());
      return { ...found, lines: found.changes.map(describeChange) };
    },
    async suggest(rows) {
      const { suggestPolicy } = await import('../policy/suggest.ts');
      const { loaded } = (await open()).policy.current;
      return suggestPolicy(rows, (await engines()).createPolicyEngine({ loaded }));
    },
    write: async (admit) => (await import('./write-policy.ts')).writePolicy(at(), admit),
    async replay(rows, file) {
      const { value, diagnostics } = await load(file);
      if (!value)
        throw fail('policy.invalid', `Cannot replay: ${diagnostics.map(formatDiagnostic).join('\n')}`);
      const { replayDecisions } = await import('../policy/suggest.ts');
      return replayDecisions(rows, (await engines()).createPolicyEngine({ loaded: value }));
    },
  };
}
