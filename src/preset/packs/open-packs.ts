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
}

export interface Packs {
  /** Opens what is new, closes what is gone, and leaves alone what is as it was. */
  follow(policy: Pick<PolicyFile, 'packs'>): Promise<void>;
}

export function createPacks({ runtime, openers, onWarning, quarantine = false }: PacksOptions): Packs {
  const { installations } = runtime;
  /** By entry, as text: the names of its packs. */
  const open = new Map<string, readonly string[]>();

  const tryOpen = async (entry: PackEntry): Promise<readonly OpenPack[] | Failure> => {
    try {
      return await openers[entry.kind](entry);
    } catch (thrown) {
      if (isFailure(thrown)) return thrown;
      throw thrown;
    }
  };

  return {
    async follow(policy) {
      const wanted = new Map(
        packEntries(policy)
          .filter(({ enabled }) => enabled)
          .map((entry) => [canonicalText({ ...entry }), entry]),
      );
      for (const [key, names] of open) {
        if (wanted.has(key)) continue;
        open.delete(key);
        for (const name of names) await installations.remove(name);
      }
      const fresh = [...wanted].filter(([key]) => !open.has(key));
      const found = await Promise.all(
        fresh.map(async ([key, entry]) => ({ key, packs: await tryOpen(entry) })),
      );
      const problems: string[] = [];
      for (const { key, packs } of found) {
        try {
          if (isFailure(packs)) throw packs;
          for (const pack of packs) installations.add(pack);
          open.set(
            key,
            packs.map(({ installation }) => installation.name),
          );
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
