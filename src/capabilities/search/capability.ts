// Owns: the search capability as the preset wires it: a handle for each call, one engine for all.
// Refuses: to look for an engine before the first search.
import type { CallScope, FsHandle } from '../../contract/capability.ts';
import type { SearchHandle } from '../../contract/search.ts';
import type { Engine } from './search.ts';

export interface SearchCapability {
  /** The factory of `Capabilities.search`. */
  open(scope: CallScope): SearchHandle;
  /** Ends searches under way, and what is kept for the next. */
  close(): void;
}

export interface SearchCapabilityOptions {
  /** The guarded files of the same call. */
  files(scope: CallScope): FsHandle;
  /** The path of a ripgrep to use, or `none` for the engine that is built in. By default the best that is found. */
  readonly ripgrep?: string;
}

interface Engines {
  readonly search: typeof import('./search.ts').search;
  readonly engine: Engine;
  /** Said with every answer. */
  readonly remark?: string;
  close?(): void;
}

export function createSearchCapability(options: SearchCapabilityOptions): SearchCapability {
  let engines: Promise<Engines> | undefined;
  return {
    open: (scope) => ({
      async search(query) {
        engines ??= load(options, [scope.root, ...scope.extraRoots]);
        const { search, engine, remark } = await engines;
        if (remark) scope.warn({ reason: 'search.builtin', message: remark });
        return search(scope, options.files(scope), engine, query);
      },
    }),
    close: () => void engines?.then(({ close }) => close?.()),
  };
}

async function load({ ripgrep }: SearchCapabilityOptions, roots: readonly string[]): Promise<Engines> {
  const [{ search }, { findRipgrep }] = await Promise.all([
    import('./search.ts'),
    import('./ripgrep/run-ripgrep.ts'),
  ]);
  const path = ripgrep ?? (await findRipgrep(roots)) ?? 'none';
  if (path === 'none') {
    const { searchBuiltin } = await import('./search-builtin.ts');
    return { search, engine: searchBuiltin, remark: BUILTIN };
  }
  const [{ searchRipgrep }, { createShellPool }] = await Promise.all([
    import('./ripgrep/search-ripgrep.ts'),
    import('./ripgrep/shell-pool.ts'),
  ]);
  const shells = createShellPool();
  return {
    search,
    engine: (site, query) => searchRipgrep({ path, shells }, site, query),
    close: shells.close,
  };
}

const BUILTIN =
  'Searched without ripgrep, which was not found: slower, and \\w, \\d, \\s and \\b know ASCII characters only';
