// Owns: a temporary workspace to search in, for the tests of this folder, and the engines that there are here.
// Refuses: to be policy; a test says what is denied.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CallScope, FsHandle } from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import type { Warning } from '../../contract/envelope.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { SearchQuery, SearchResult } from '../../contract/search.ts';
import { createSearchCapability, type SearchCapability } from './capability.ts';
import { findRipgrep } from './ripgrep/run-ripgrep.ts';

export interface Searched extends SearchResult {
  readonly warnings: readonly Warning[];
  readonly admitted: readonly Effect[];
}

export interface SearchOptions {
  readonly signal?: AbortSignal;
  readonly extraRoots?: readonly string[];
  denies?(effect: Effect): boolean;
}

export interface Arena {
  readonly root: string;
  put(path: string, content: string | Uint8Array): void;
  search(query: Partial<SearchQuery>, options?: SearchOptions): Promise<Searched>;
  /** The same for a search that must be refused. */
  refuse(query: Partial<SearchQuery>, options?: SearchOptions): Promise<Failure>;
  /** With another engine: the path of a ripgrep, or `none`. */
  withEngine(ripgrep: string): Arena;
  close(): void;
}

export const QUERY: SearchQuery = {
  pattern: 'hit',
  fixedStrings: false,
  caseSensitive: true,
  multiline: false,
  glob: '**',
  fileTypes: [],
  includeHidden: false,
  includeIgnored: false,
  mode: 'matches',
  maxResults: 1000,
  contextBefore: 0,
  contextAfter: 0,
  maxLineBytes: 1024,
};

/** `files` makes the guarded handle. */
export function createArena(files: (scope: CallScope) => FsHandle): Arena {
  const home = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-search-')));
  const root = join(home, 'workspace');
  mkdirSync(root);
  const opened: SearchCapability[] = [];
  const close = () => {
    for (const one of opened) one.close();
    rmSync(home, { recursive: true, force: true });
  };
  const arenaWith = (ripgrep: string | undefined): Arena => {
    const capability = createSearchCapability({ files, ...(ripgrep === undefined ? {} : { ripgrep }) });
    opened.push(capability);
    const search = async (query: Partial<SearchQuery>, options: SearchOptions = {}) => {
      const { scope, warnings, admitted } = scopeOf(root, options);
      const result = await capability.open(scope).search({ ...QUERY, ...query });
      return { ...result, warnings, admitted };
    };
    return {
      root,
      search,
      close,
      put(path, content) {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        writeFileSync(join(root, path), content);
      },
      async refuse(query, options) {
        const thrown: unknown = await search(query, options).catch((error: unknown) => error);
        if (isFailure(thrown)) return thrown;
        throw thrown instanceof Error ? thrown : new Error(`It was not refused: ${JSON.stringify(thrown)}`);
      },
      withEngine: arenaWith,
    };
  };
  return arenaWith(undefined);
}

/** Every engine of this machine: the ripgrep that came with Haft, the system's if it has one, and the one that is built in. */
export async function enginesHere(): Promise<Record<string, string>> {
  const bundled = await findRipgrep([]);
  const system = await findRipgrep([], { bundled: false });
  return {
    ...(bundled ? { ripgrep: bundled } : {}),
    ...(system ? { "the system's ripgrep": system } : {}),
    'the engine that is built in': 'none',
  };
}

function scopeOf(root: string, { signal, extraRoots = [], denies = () => false }: SearchOptions) {
  const warnings: Warning[] = [];
  const admitted: Effect[] = [];
  const unused = (): never => {
    throw new Error('A search touches nothing else');
  };
  const scope: CallScope = {
    callId: 'call_test',
    root,
    extraRoots,
    signal: signal ?? new AbortController().signal,
    get objects() {
      return unused();
    },
    get policy() {
      return unused();
    },
    place: (path) => path,
    undo: { keep: false, maxBytes: 0 },
    admit(effect, actual = effect) {
      admitted.push(actual);
      if (denies(effect) || denies(actual))
        throw fail('policy.denied', 'Cannot touch it: the test denies it');
    },
    visible: (path) => !denies({ kind: 'fs.read', path }),
    intend: unused,
    warn: (warning) => void warnings.push(warning),
  };
  return { scope, warnings, admitted };
}
