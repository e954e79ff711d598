// Owns: a backend that is made when it is first asked for, and made again when policy describes another.
// Refuses: to start anything for a host that only looks results up.
import type { Backend } from '../../contract/backend.ts';

export interface LazyBackend {
  readonly name: string;
  /** What it is made from; another text makes another backend, and what runs on the first one ends there. */
  settings(): string;
  make(): Promise<Backend>;
  /** Whether anything may be left here by processes that died; else it is not asked. */
  mayHoldOrphans(): boolean;
  readonly hasImages?: boolean;
}

export function createLazyBackend({
  name,
  settings,
  make,
  mayHoldOrphans,
  hasImages = false,
}: LazyBackend): Backend {
  const made = new Map<string, Promise<Backend>>();
  const current = (): Promise<Backend> => {
    const key = settings();
    const known = made.get(key) ?? make();
    made.set(key, known);
    // One that could not be made is tried again.
    known.catch(() => made.delete(key));
    return known;
  };
  return {
    name,
    start: async (attempt) => (await current()).start(attempt),
    find: async (attempt) => (await current()).find(attempt),
    reap: async (isOpen) => (mayHoldOrphans() ? (await current()).reap(isOpen) : []),
    look: async (attempt) => (await current()).look?.(attempt),
    probe: async () => (await (await current()).probe?.()) ?? '',
    ...(hasImages
      ? {
          pinImage: async (reference) => pinOn(await current(), reference),
          imageEnv: async (image) => (await current()).imageEnv?.(image),
        }
      : {}),
    async close() {
      const all = await Promise.allSettled(made.values());
      await Promise.all(all.map((one) => (one.status === 'fulfilled' ? one.value.close() : undefined)));
    },
  };
}

const pinOn = (backend: Backend, reference: string) =>
  (backend.pinImage as NonNullable<Backend['pinImage']>)(reference);
