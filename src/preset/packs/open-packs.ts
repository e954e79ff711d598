// Owns: the packs of haft.yaml, opened at the start and again whenever the policy names others.
// Refuses: to start with a pack that is wrong; a server that is merely not there hides nothing and stops nothing.
import { canonicalText } from '../../base/canonical-json.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { PolicyFile } from '../../contract/policy.ts';
import type { OpenPack, Runtime } from '../../contract/runtime.ts';
import { type PackEntry, packEntries } from './pack-entries.ts';

/** Opens an entry of its kind. One kind of entry may be several packs. */
export type OpenEntry = (entry: PackEntry) => Promise<readonly OpenPack[]>;

export interface PacksOptions {
  readonly runtime: Pick<Runtime, 'installations'>;
  readonly openers: { readonly [kind in PackEntry['kind']]: OpenEntry };
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Starts without the packs that are wrong, and says so. */
  readonly quarantine?: boolean;
  /** What a person accepted of the packs, read anew with every policy. */
  lock?(): PackLock;
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
}

export function createPacks(options: PacksOptions): Packs {
  const { runtime, openers, onWarning, quarantine = false, lock = () => NO_LOCK } = options;
  const { installations } = runtime;
  /** By entry, as text: its packs as they came, and as they are callable. */
  const open = new Map<string, readonly Opened[]>();

  const tryOpen = async (entry: PackEntry): Promise<readonly OpenPack[] | Failure> => {
    try {
      return await openers[entry.kind](entry);
    } catch (thrown) {
      if (isFailure(thrown)) return thrown;
      throw thrown;
    }
  };

  /** What a person accepted, or took back, since: such packs are opened anew. */
  const lockAgain = async (packs: readonly Opened[], accepted: PackLock): Promise<readonly Opened[]> => {
    const again = packs.map(({ pack }) => ({ pack, callable: accepted.apply(pack) }));
    for (const [at, { callable }] of again.entries()) {
      if (sameQuarantine(callable, packs[at]!.callable)) continue;
      await installations.remove(callable.installation.name);
      installations.add(callable);
    }
    return again;
  };

  return {
    async follow(policy) {
      const wanted = new Map(
        packEntries(policy)
          .filter(({ enabled }) => enabled)
          .map((entry) => [canonicalText({ ...entry }), entry]),
      );
      for (const [key, packs] of open) {
        if (wanted.has(key)) continue;
        open.delete(key);
        for (const { pack } of packs) await installations.remove(pack.installation.name);
      }
      const fresh = [...wanted].filter(([key]) => !open.has(key));
      const found = await Promise.all(
        fresh.map(async ([key, entry]) => ({ key, packs: await tryOpen(entry) })),
      );
      const accepted = lock();
      const fine = found.flatMap(({ packs }) => (isFailure(packs) ? [] : packs));
      // What could not be opened is the greater problem, and would look like something that is gone.
      if (quarantine || !found.some(({ packs }) => isFailure(packs)))
        accepted.check([...[...open.values()].flat().map(({ pack }) => pack), ...fine]);
      for (const [key, packs] of open) open.set(key, await lockAgain(packs, accepted));
      const problems: string[] = [];
      for (const { key, packs } of found) {
        try {
          if (isFailure(packs)) throw packs;
          const applied = packs.map((pack) => ({ pack, callable: accepted.apply(pack) }));
          for (const { callable } of applied) installations.add(callable);
          open.set(key, applied);
          for (const { callable } of applied)
            for (const why of Object.values(callable.quarantine ?? {})) onWarning?.(why);
        } catch (thrown) {
          if (!isFailure(thrown)) throw thrown;
          problems.push(thrown.message);
        }
      }
      if (problems.length === 0) return;
      if (!quarantine)
        throw fail('pack.invalid', `Cannot start: packs have problems\n${problems.join('\n')}`);
      for (const problem of problems) onWarning?.(`Left out: ${problem}`);
    },
  };
}

interface Opened {
  readonly pack: OpenPack;
  readonly callable: OpenPack;
}

const NO_LOCK: PackLock = { check() {}, apply: (pack) => pack };

const sameQuarantine = (a: OpenPack, b: OpenPack): boolean =>
  canonicalText(a.quarantine ?? {}) === canonicalText(b.quarantine ?? {});
