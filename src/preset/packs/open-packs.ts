// Owns: the packs of haft.yaml, opened at the start and again whenever the policy names others.
// Refuses: to start with a pack that is wrong; a server that is merely not there hides nothing and stops nothing.
import { canonicalText } from '../../base/canonical-json.ts';
import { createTurns } from '../../base/turns.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { HealthMonitor } from '../../contract/health.ts';
import type { PolicyFile } from '../../contract/policy.ts';
import type { OpenPack, PackState, Runtime } from '../../contract/runtime.ts';
import { isFolder, packEntries, readEntries } from './pack-entries.ts';
import type { OpenEntry, PackEntry, PackFollow, PackSaid } from './pack-source.ts';
import { areSameIds, areSameTools } from './pack-source.ts';

export interface PacksOptions {
  readonly runtime: Pick<Runtime, 'installations'>;
  readonly open: OpenEntry;
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Starts without the packs that are wrong, and tells of each. */
  readonly onBroken?: ((message: string) => void) | undefined;
  /** What a person accepted of the packs, read anew with every policy. */
  lock?(): PackLock;
  /** Told when the tools of a pack that is open became others. */
  retooled?(): Promise<void>;
}

export interface PackLock {
  /** Throws where nothing may differ, and something does. */
  check(packs: readonly OpenPack[]): void;
  /** The pack without what nobody accepted. */
  apply(pack: OpenPack): OpenPack;
}

export interface Packs {
  /** Opens what is new, closes what is gone, and leaves alone what is as it was. */
  follow(policy: Pick<PolicyFile, 'packs'>): Promise<void>;
  /**
   * Opens the packs that are folders again, as they are now, whole. What is wrong with one, or may not differ from
   * haft.lock, is told, and it stays as it was.
   */
  refresh(): Promise<void>;
  /** The paths of all packs that are folders, opened or not. */
  folders(): readonly string[];
  /** By name: why a pack is not what its folder holds by now. */
  problems(): ReadonlyMap<string, string>;
  /** Those whose servers said, while they ran, that they have other tools: as they are now, accepted or not. */
  spoken(): readonly OpenPack[];
  /** Nothing is followed any more. The packs themselves stay open; the runtime closes them. */
  close(): Promise<void>;
}

/** The packs, and what is known of how they are. */
export interface WatchedPacks extends Packs {
  /** By name: what every door says of them. */
  states(): readonly PackState[];
  /** Undefined while there are none. */
  readonly health: HealthMonitor | undefined;
}

export function createPacks(options: PacksOptions): Packs {
  const { runtime, open: openEntry, onWarning, onBroken, lock = () => NO_LOCK } = options;
  const { installations } = runtime;
  /** By entry, as text. */
  const open = new Map<string, Opened>();
  /** Those of the last policy, opened or not. */
  let entries: ReadonlyMap<string, PackEntry> = new Map();
  const problems = new Map<string, string>();
  /** Each change finds what the one before it left. */
  const inTurn = createTurns();

  const openOne = async (key: string, entry: PackEntry): Promise<Found> => {
    const following = new AbortController();
    const follow: PackFollow = {
      signal: following.signal,
      changed: (name, said) =>
        inTurn(() => retool(following.signal, key, name, said)).catch((thrown: Error) => {
          onWarning?.(`Left as it was: ${thrown.message}`);
          throw thrown;
        }),
      barred(name, id) {
        const found = open.get(key)?.packs.find(({ pack }) => pack.installation.name === name);
        return found?.callable.quarantine?.[id];
      },
    };
    try {
      const packs = await openEntry(entry, follow);
      return { key, following, packs };
    } catch (thrown) {
      following.abort();
      if (isFailure(thrown)) return { key, following, packs: thrown };
      // Whatever it is, it is about this one: the others, and what was recorded, are none the worse for it.
      onWarning?.(`Cannot take the pack "${entry.name}": ${(thrown as Error).stack}`);
      return { key, following, packs: unreadable(entry, thrown as NodeJS.ErrnoException) };
    }
  };

  /** A server says that it has other tools. */
  const retool = async (signal: AbortSignal, key: string, name: string, said: PackSaid): Promise<void> => {
    const opened = open.get(key);
    if (signal.aborted || !opened) return;
    const accepted = lock();
    const packs = opened.packs.map((one) => {
      if (one.pack.installation.name !== name) return one;
      const isFirst = one.pack.absent !== undefined && one.pack.tools.length === 0;
      const same = areSameTools(one.pack.tools, said.tools) && areSameIds(one.pack.refused, said.refused);
      if (!isFirst && same) return one;
      const pack = { ...one.pack, ...said };
      return { pack, callable: accepted.apply(pack), spoken: !isFirst };
    });
    await replaceChanged(opened.packs, packs);
    open.set(key, { ...opened, packs });
    await options.retooled?.();
  };

  /**
   * What a person accepted, or took back, since. Where something else was accepted than what is open here, it may be
   * that it is still open as it was: it is opened anew.
   */
  const lockAgain = async (
    key: string,
    entry: PackEntry,
    opened: Opened,
    accepted: PackLock,
  ): Promise<Opened> => {
    const under = (packs: readonly OpenPack[]) =>
      packs.map((pack) => ({ pack, callable: accepted.apply(pack) }));
    const packs = opened.packs.map((one) => ({ ...one, callable: accepted.apply(one.pack) }));
    const barred = packs.some(({ callable }, at) => bars(callable, opened.packs[at]!.callable));
    const found = barred ? await openOne(key, entry) : undefined;
    if (!found || isFailure(found.packs) || found.packs.length !== packs.length) {
      await replaceChanged(opened.packs, packs);
      return { ...opened, packs };
    }
    opened.following.abort();
    const again = under(found.packs);
    for (const { callable } of again) await installations.replace(callable);
    return { packs: again, following: found.following };
  };

  const replaceChanged = async (before: Opened['packs'], after: Opened['packs']): Promise<void> => {
    for (const [at, { callable }] of after.entries())
      if (!isSameFace(callable, before[at]!.callable)) await installations.replace(callable);
    warnOf(after, before);
  };

  /** What became quarantined. */
  const warnOf = (packs: Opened['packs'], before: Opened['packs'] = []): void => {
    const whys = (all: Opened['packs']) =>
      all.flatMap(({ callable }) => Object.values(callable.quarantine ?? {}));
    const known = new Set(whys(before));
    for (const why of whys(packs)) if (!known.has(why)) onWarning?.(why);
  };

  const closeOne = async (key: string, { packs, following }: Opened): Promise<void> => {
    open.delete(key);
    following.abort();
    for (const { pack } of packs) await installations.remove(pack.installation.name);
  };

  const add = (key: string, following: AbortController, packs: readonly OpenPack[], accepted: PackLock) => {
    const applied = packs.map((pack) => ({ pack, callable: accepted.apply(pack) }));
    for (const { callable } of applied) installations.add(callable);
    open.set(key, { packs: applied, following });
    warnOf(applied);
  };

  const entriesOf = (policy: Pick<PolicyFile, 'packs'>): readonly PackEntry[] => {
    if (!onBroken) return packEntries(policy);
    const { entries: read, problems: wrong } = readEntries(policy.packs ?? []);
    for (const { message } of wrong) onBroken(message);
    return read.filter((entry) => entry !== undefined);
  };

  /** Answers whether it is now what its folder holds. */
  const refreshOne = async (key: string, entry: PackEntry, accepted: PackLock): Promise<boolean> => {
    const { name } = entry;
    const opened = open.get(key);
    const found = await openOne(key, entry);
    try {
      if (isFailure(found.packs)) throw found.packs;
      const others = [...open].flatMap(([one, { packs }]) =>
        one === key ? [] : packs.map(({ pack }) => pack),
      );
      if (opened && areSamePacks(opened.packs, found.packs)) found.following.abort();
      else {
        accepted.check([...others, ...found.packs]);
        if (!opened) add(key, found.following, found.packs, accepted);
        else {
          const packs = found.packs.map((pack) => ({ pack, callable: accepted.apply(pack) }));
          for (const { callable } of packs) await installations.replace(callable);
          warnOf(packs, opened.packs);
          opened.following.abort();
          open.set(key, { packs, following: found.following });
        }
        onWarning?.(`The pack "${name}" was read again`);
      }
      problems.delete(name);
      return true;
    } catch (thrown) {
      found.following.abort();
      if (!isFailure(thrown)) throw thrown;
      const { message } = thrown;
      if (problems.get(name) !== message) onWarning?.(`The pack "${name}" stays as it was: ${message}`);
      problems.set(name, message);
      return false;
    }
  };

  const refresh = async (): Promise<void> => {
    const accepted = lock();
    let left = [...entries].filter(([, entry]) => isFolder(entry));
    // A tool may have moved from one to another: what could not be before can be once the other has let go of it.
    for (let before = left.length + 1; left.length > 0 && left.length < before; ) {
      before = left.length;
      const still: typeof left = [];
      for (const one of left) if (!(await refreshOne(...one, accepted))) still.push(one);
      left = still;
    }
  };

  const follow: Packs['follow'] = async (policy) => {
    const wanted = new Map(
      entriesOf(policy)
        .filter(({ enabled }) => enabled)
        .map((entry) => [canonicalText({ ...entry }), entry]),
    );
    entries = wanted;
    for (const name of problems.keys())
      if (![...wanted.values()].some((entry) => entry.name === name)) problems.delete(name);
    const fresh = [...wanted].filter(([key]) => !open.has(key));
    const found = await Promise.all(fresh.map(([key, entry]) => openOne(key, entry)));
    const kept = [...open].filter(([key]) => wanted.has(key));
    const accepted = lock();
    const fine = found.flatMap(({ packs }) => (isFailure(packs) ? [] : packs));
    // What could not be opened is the greater problem, and would look like something that is gone.
    if (onBroken || !found.some(({ packs }) => isFailure(packs)))
      accepted.check([...kept.flatMap(([, { packs }]) => packs.map(({ pack }) => pack)), ...fine]);
    for (const [key, opened] of [...open]) if (!wanted.has(key)) await closeOne(key, opened);
    for (const [key, opened] of kept) open.set(key, await lockAgain(key, wanted.get(key)!, opened, accepted));
    const wrong: Failure[] = [];
    for (const { key, following, packs } of found) {
      try {
        if (isFailure(packs)) throw packs;
        add(key, following, packs, accepted);
      } catch (thrown) {
        following.abort();
        if (!isFailure(thrown)) throw thrown;
        wrong.push(thrown);
      }
    }
    if (wrong.length === 0) return;
    if (!onBroken) throw notOpened(wrong);
    for (const { message } of wrong) onBroken(message);
  };

  return {
    follow: (policy) => inTurn(() => follow(policy)),
    refresh: () => inTurn(refresh),
    folders: () => [...entries.values()].filter(isFolder).map(({ path = '.' }) => path),
    problems: () => problems,
    spoken: () =>
      [...open.values()].flatMap(({ packs }) => packs.flatMap(({ pack, spoken }) => (spoken ? [pack] : []))),
    async close() {
      for (const { following } of open.values()) following.abort();
      await inTurn(async () => {});
    },
  };
}

/** Its packs as they came, and as they are callable. */
interface Opened {
  readonly packs: readonly {
    readonly pack: OpenPack;
    readonly callable: OpenPack;
    readonly spoken?: boolean;
  }[];
  readonly following: AbortController;
}

interface Found {
  readonly key: string;
  readonly following: AbortController;
  readonly packs: readonly OpenPack[] | Failure;
}

/** With the lines that would admit it, where policy alone stands in the way and one grant is enough. */
function notOpened(wrong: readonly Failure[]): Failure {
  const admits = new Set(wrong.map(({ details }) => details?.admit));
  const [admit] = admits;
  const messages = wrong.map(({ message }) => message).join('\n');
  return fail(
    'pack.invalid',
    `Cannot start: packs have problems\n${messages}`,
    admits.size === 1 && typeof admit === 'string' ? { admit } : undefined,
  );
}

/** The words of such an error may hold paths of this machine: its kind has to do. */
const unreadable = ({ name }: PackEntry, { code, name: kind }: NodeJS.ErrnoException): Failure =>
  fail(
    'pack.invalid',
    `Cannot take the pack "${name}": reading it failed (${code ?? kind}); check what haft.yaml says of it`,
  );

const NO_LOCK: PackLock = { check() {}, apply: (pack) => pack };

/** It quarantines what the other does not. */
const bars = ({ quarantine = {} }: OpenPack, { quarantine: before = {} }: OpenPack): boolean =>
  Object.keys(quarantine).some((id) => !Object.hasOwn(before, id));

/** Callers are told the same of both, and may call the same. */
const isSameFace = (a: OpenPack, b: OpenPack): boolean =>
  a.refused === b.refused &&
  a.problems === b.problems &&
  canonicalText(a.quarantine ?? {}) === canonicalText(b.quarantine ?? {}) &&
  areSameTools(a.tools, b.tools);

/** Nothing of what they are made of is another. */
const areSamePacks = (before: Opened['packs'], after: readonly OpenPack[]): boolean =>
  before.length === after.length &&
  before.every(({ pack }, at) => {
    const { installation, tools, files = {} } = after[at]!;
    return (
      pack.installation.name === installation.name &&
      pack.installation.digest === installation.digest &&
      canonicalText(pack.files ?? {}) === canonicalText(files) &&
      areSameTools(pack.tools, tools)
    );
  });
