// Owns: adding, configuring, removing, enabling and disabling packs beside haft.yaml, for whoever asks on a person's behalf.
// Refuses: to change haft.yaml, and to add what cannot be reached or would keep the next start from working.
import { canonicalJson } from '../../base/canonical-json.ts';
import { closest } from '../../base/closest.ts';
import { digest } from '../../base/digest.ts';
import { formatDiagnostic } from '../../contract/diagnostic.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { LockFile } from '../../contract/lock.ts';
import type { PackListing } from '../../contract/operation-handles.ts';
import type { LoadedPolicy } from '../../contract/policy.ts';
import type { InstallationRecord, Store } from '../../contract/store.ts';
import { openToLook } from '../../loader/empty-state.ts';
import { compareLock, isQuarantined } from '../../loader/lock/compare-lock.ts';
import { readLockFile, writeLockFile } from '../../loader/lock/lock-file.ts';
import { pinPacks, replacePack } from '../../loader/lock/pin-tools.ts';
import { tellPacksChanged } from '../../loader/notices.ts';
import { loadTrusted } from '../adopt-policy.ts';
import { createDefaultRuntime } from '../default.ts';
import { localPerson, openState, recordManagement } from '../record-management.ts';
import { givenTrust, keepLockTrust } from '../trust/trust.ts';
import { installedPacks, isFolder, knownPacks, packEntries } from './pack-entries.ts';
import type { PackEntry } from './pack-source.ts';

export interface WorkspacePacks {
  /** By name. */
  list(): Promise<readonly PackListing[]>;
  /** Throws `pack.unknown`. */
  show(name: string): Promise<PackListing>;
  /** Those that are enabled. */
  entries(): Promise<readonly PackEntry[]>;
  /** `entry` as in `packs:`, without its name. Asks it for its tools, keeps it, and pins them where there is a lock. */
  add(name: string, entry: JsonObject): Promise<Added>;
  /** Of one that was added: what it needs, whole. What that changes of its tools has to be accepted where there is a lock. */
  configure(name: string, config: JsonObject): Promise<Configured>;
  remove(name: string): Promise<void>;
  /** Answers whether that changed anything. */
  enable(name: string, enabled: boolean): Promise<boolean>;
}

export interface Added {
  readonly tools: readonly string[];
  /** What it has and cannot be used, or is not as it should be: one sentence each. */
  readonly problems?: readonly string[];
}

export interface Configured extends Added {
  /** Those that are not what was accepted. */
  readonly quarantined: readonly string[];
}

export interface WorkspacePacksOptions {
  /** Nothing may differ from haft.lock, so that nothing can be changed. */
  readonly frozen?: boolean;
  /** Who asks, for the audit; by default the account that runs this process. */
  readonly by?: string;
  /** Nothing is changed: where there is no `.haft` none is made. */
  readonly looks?: boolean;
}

/** Without a runtime of the workspace: packs can be put right also where nothing would start. */
export async function withWorkspacePacks<T>(
  workspace: string,
  use: (packs: WorkspacePacks) => Promise<T>,
  options: WorkspacePacksOptions = {},
): Promise<T> {
  const { file, outer } = await readPolicy(workspace);
  const written = file.packs ?? [];
  const open = (folder?: string) => openState(workspace, folder);
  const store = await (options.looks ? openToLook(workspace, open) : open());
  const { by = localPerson() } = options;
  const record = (action: string, facts: JsonObject) =>
    recordManagement(workspace, { action, by, facts }, store.audit);
  try {
    return await use(
      createWorkspacePacks(workspace, written, store.installations, {
        ...options,
        record,
        outer: outer?.[0]?.name,
      }),
    );
  } finally {
    await store.close();
  }
}

type Written = Parameters<typeof installedPacks>[0];

function createWorkspacePacks(
  workspace: string,
  written: Written,
  store: Store['installations'],
  {
    frozen = false,
    outer,
    record: note,
  }: WorkspacePacksOptions & {
    readonly outer: string | undefined;
    /** Into the audit. */
    record(action: string, facts: JsonObject): Promise<void>;
  },
): WorkspacePacks {
  const list = async () => knownPacks(written, await store.list());
  const find = async (name: string, action: string): Promise<PackListing> => {
    const packs = await list();
    return packs.find((pack) => pack.name === name) ?? raise(unknown(name, action, packs));
  };
  const mayChange = (action: string) => {
    if (!frozen) return;
    throw fail('lockfile.drift', `Cannot ${action} a pack while frozen: nothing may differ from haft.lock`);
  };
  /** Together with all others: a name that two packs give would keep the next start from working. */
  const tryTogether = async (record: InstallationRecord) => {
    const others = (await store.list()).filter(({ name }) => name !== record.name);
    await tryOut(workspace, installedPacks(written, [...others, record]), false);
  };
  const changeLock = (change: (lock: LockFile) => LockFile) => {
    const lock = readLockFile(workspace);
    if (lock && writeLockFile(workspace, change(lock))) keepLockTrust(workspace);
  };
  const refuseTaken = async (name: string) => {
    if ((await list()).some((pack) => pack.name === name))
      throw fail('pack.invalid', `Cannot add "${name}": there is a pack of that name`);
  };
  return {
    list,
    show: (name) => find(name, 'show'),
    async entries() {
      const entries = packEntries({ packs: installedPacks(written, await store.list()) });
      return entries.filter(({ enabled }) => enabled);
    },
    async add(name, entry) {
      mayChange('add');
      if (outer !== undefined)
        throw fail('usage', `Cannot add "${name}" here: ${outer} holds here as well; name the pack in both`);
      const [checked] = packEntries(
        { packs: [{ ...entry, name }] },
        () => `Cannot add "${name.slice(0, 80)}"`,
      );
      if (checked && isFolder(checked)) throw notHere(name, checked.path ?? '');
      await refuseTaken(name);
      const { pins, problems } = await tryOut(workspace, [{ ...entry, name }], true);
      const now = Date.now();
      const record: InstallationRecord = { name, entry, enabled: true, addedTs: now, changedTs: now };
      await tryTogether(record);
      // Asking it took a while: somebody else may have added one.
      await refuseTaken(name);
      await store.put(record);
      changeLock((lock) => replacePack(lock, name, pins));
      tellPacksChanged(workspace);
      const tools = Object.keys(pins.tools).sort();
      await note('haft tools add', { pack: name, entry: entryDigest(entry), tools: tools.length });
      return { tools, ...(problems.length > 0 ? { problems } : {}) };
    },
    async configure(name, config) {
      mayChange('configure');
      const { from, kind } = await find(name, 'configure');
      const known = await store.get(name);
      if (from === 'haft.yaml' || !known)
        throw fail('usage', `Cannot configure "${name}": haft.yaml names it; change it there`);
      const entry = { [kind]: config };
      const { pins, problems } = await tryOut(workspace, [{ ...entry, name }], true);
      const record: InstallationRecord = { ...known, entry, changedTs: Date.now() };
      await tryTogether(record);
      await store.put(record);
      // The config is a person's word; what the server says about its tools is not.
      changeLock((lock) => ({
        ...lock,
        packs: { ...lock.packs, ...(name in lock.packs ? pins.packs : {}) },
      }));
      tellPacksChanged(workspace);
      await note('haft tools config', { pack: name, entry: entryDigest(entry) });
      const lock = readLockFile(workspace);
      const drifts = lock ? compareLock(lock, pins).filter(isQuarantined) : [];
      return {
        tools: Object.keys(pins.tools).sort(),
        ...(problems.length > 0 ? { problems } : {}),
        quarantined: drifts.flatMap(({ tool = '', pack }) => (pack === name ? [tool] : [])),
      };
    },
    async remove(name) {
      mayChange('remove');
      const { from } = await find(name, 'remove');
      if (from === 'haft.yaml')
        throw fail('usage', `Cannot remove "${name}": haft.yaml names it; take it out there, or disable it`);
      await store.remove(name);
      changeLock((lock) => replacePack(lock, name, undefined));
      tellPacksChanged(workspace);
      await note('haft tools remove', { pack: name });
    },
    async enable(name, enabled) {
      const action = enabled ? 'enable' : 'disable';
      mayChange(action);
      const pack = await find(name, action);
      if (pack.enabled === enabled) return false;
      const known = await store.get(name);
      if (enabled && !known)
        throw fail('usage', `Cannot enable "${name}": haft.yaml says enabled: false; change it there`);
      const now = Date.now();
      // What haft.yaml names needs no row to be enabled.
      if (enabled && known?.entry === null) await store.remove(name);
      else await store.put({ name, entry: null, addedTs: now, ...known, enabled, changedTs: now });
      tellPacksChanged(workspace);
      await note(`haft tools ${action}`, { pack: name });
      return true;
    },
  };
}

/** What it is configured with may hold what nobody else should read. */
const entryDigest = (entry: JsonObject): string => digest('toolpack/v1', canonicalJson(entry));

async function readPolicy(workspace: string): Promise<LoadedPolicy> {
  const { value, diagnostics } = await loadTrusted(workspace, givenTrust(undefined));
  if (value) return value;
  throw fail('policy.invalid', `Cannot read haft.yaml:\n${diagnostics.map(formatDiagnostic).join('\n')}`);
}

/** Opens them as the next start would. */
async function tryOut(workspace: string, packs: Written, fresh: boolean) {
  // Others that nobody has reached yet say nothing about this one.
  const options = { workspace, lock: 'ignore', freshPacks: fresh, packs, serversMs: 0 } as const;
  const runtime = await createDefaultRuntime(options).catch((thrown) => raise(withoutStart(thrown)));
  try {
    const all = runtime.installations.all();
    return { pins: pinPacks(all), problems: all.flatMap(({ problems = [] }) => problems) };
  } finally {
    await runtime.close();
  }
}

function unknown(name: string, action: string, packs: readonly PackListing[]): Failure {
  const near = closest(
    name,
    packs.map((pack) => pack.name),
  );
  const hint = near ? `; did you mean "${near}"?` : '';
  return fail('pack.unknown', `Cannot ${action} "${name.slice(0, 80)}": no such pack is installed${hint}`);
}

const raise = (thrown: unknown): never => {
  throw thrown;
};

/** Nothing is being started, as far as the person who adds a pack knows. */
function withoutStart(thrown: unknown): unknown {
  if (!isFailure(thrown)) return thrown;
  return fail(
    thrown.reason,
    thrown.message.replace(/^Cannot start: packs have problems\n/, ''),
    thrown.details,
  );
}

/** Tools must not be able to write where tools are read from, and only haft.yaml keeps them from it. */
const notHere = (name: string, path: string): Failure =>
  fail(
    'usage',
    `Cannot add the folder "${name}": name it in haft.yaml, which protects it: packs: [${JSON.stringify(path)}]`,
  );
