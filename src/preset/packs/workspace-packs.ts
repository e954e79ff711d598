// Owns: adding, removing, enabling and disabling packs beside haft.yaml, for whoever asks on a person's behalf.
// Refuses: to change haft.yaml, and to add what cannot be reached or would keep the next start from working.
import { closest } from '../../base/closest.ts';
import { formatDiagnostic } from '../../contract/diagnostic.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { InstallationRecord, Store } from '../../contract/store.ts';
import { readLockFile, writeLockFile } from '../../loader/lock/lock-file.ts';
import { pinPacks } from '../../loader/lock/pin-tools.ts';
import { replacePack } from '../../loader/lock/replace-pack.ts';
import { processIdentity } from '../../stores/process-identity.ts';
import { openSqliteStore } from '../../stores/sqlite/open-sqlite-store.ts';
import { createDefaultRuntime } from '../default.ts';
import { loadPolicy } from '../load-policy.ts';
import { installedPacks, type KnownPack, knownPacks } from './installed-packs.ts';
import { type PackEntry, packEntries } from './pack-entries.ts';

export interface WorkspacePacks {
  list(): Promise<readonly KnownPack[]>;
  /** Those that are enabled. */
  entries(): Promise<readonly PackEntry[]>;
  /** `entry` as in `packs:`, without its name. Asks it for its tools, keeps it, and pins them where there is a lock. */
  add(name: string, entry: JsonObject): Promise<readonly string[]>;
  remove(name: string): Promise<void>;
  /** Answers whether that changed anything. */
  enable(name: string, enabled: boolean): Promise<boolean>;
}

/** Without a runtime of the workspace: packs can be put right also where nothing would start. */
export async function withWorkspacePacks<T>(
  workspace: string,
  use: (packs: WorkspacePacks) => Promise<T>,
): Promise<T> {
  const written = await writtenPacks(workspace);
  const folder = `${workspace}/.haft`;
  const store = await openSqliteStore({ folder, process: processIdentity(), clock: Date });
  try {
    return await use(createWorkspacePacks(workspace, written, store.installations));
  } finally {
    await store.close();
  }
}

type Written = Parameters<typeof installedPacks>[0];

function createWorkspacePacks(
  workspace: string,
  written: Written,
  store: Store['installations'],
): WorkspacePacks {
  const list = async () => knownPacks(written, await store.list());
  const find = async (name: string, action: string): Promise<KnownPack> => {
    const packs = await list();
    return packs.find((pack) => pack.name === name) ?? raise(unknown(name, action, packs));
  };
  return {
    list,
    async entries() {
      const entries = packEntries({ packs: installedPacks(written, await store.list()) });
      return entries.filter(({ enabled }) => enabled);
    },
    async add(name, entry) {
      const [checked] = packEntries({ packs: [{ ...entry, name }] });
      if (checked?.kind === 'path') throw notHere(name, checked.path ?? '');
      if ((await list()).some((pack) => pack.name === name))
        throw fail('pack.invalid', `Cannot add "${name}": there is a pack of that name`);
      const pins = await tryOut(workspace, [{ ...entry, name }], true);
      const record: InstallationRecord = {
        name,
        entry,
        enabled: true,
        addedTs: Date.now(),
        changedTs: Date.now(),
      };
      // Together with all others: a name that two packs give would keep the next start from working.
      await tryOut(workspace, installedPacks(written, [...(await store.list()), record]), false);
      await store.put(record);
      const lock = readLockFile(workspace);
      if (lock) writeLockFile(workspace, replacePack(lock, name, pins));
      return Object.keys(pins.tools).sort();
    },
    async remove(name) {
      const { from } = await find(name, 'remove');
      if (from === 'haft.yaml')
        throw fail('usage', `Cannot remove "${name}": haft.yaml names it; take it out there, or disable it`);
      await store.remove(name);
      const lock = readLockFile(workspace);
      if (lock) writeLockFile(workspace, replacePack(lock, name, undefined));
    },
    async enable(name, enabled) {
      const pack = await find(name, enabled ? 'enable' : 'disable');
      if (pack.enabled === enabled) return false;
      const known = await store.get(name);
      if (enabled && !known)
        throw fail('usage', `Cannot enable "${name}": haft.yaml says enabled: false; change it there`);
      const now = Date.now();
      // What haft.yaml names needs no row to be enabled.
      if (enabled && known?.entry === null) await store.remove(name);
      else await store.put({ name, entry: null, addedTs: now, ...known, enabled, changedTs: now });
      return true;
    },
  };
}

async function writtenPacks(workspace: string): Promise<Written> {
  const { value, diagnostics } = await loadPolicy(workspace);
  if (value) return value.file.packs ?? [];
  throw fail('policy.invalid', `Cannot read haft.yaml:\n${diagnostics.map(formatDiagnostic).join('\n')}`);
}

/** Opens them as the next start would. */
async function tryOut(workspace: string, packs: Written, fresh: boolean) {
  const options = { workspace, lock: 'ignore', freshPacks: fresh, packs } as const;
  const runtime = await createDefaultRuntime(options).catch((thrown) => raise(withoutStart(thrown)));
  try {
    return pinPacks(runtime.installations.all());
  } finally {
    await runtime.close();
  }
}

function unknown(name: string, action: string, packs: readonly KnownPack[]): Failure {
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
