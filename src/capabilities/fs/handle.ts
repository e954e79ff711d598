// Owns: `ctx.fs`: files below the roots of a call, every access admitted by name and by where it really leads; and the usual read in the
// fewest system calls that prove it: a small regular file, reached without a link.
// Refuses: to open anything that was not admitted, and to change anything but through `mutate`.
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import { once } from '../../base/once.ts';
import type { OpenFile } from '../../contract/artifacts.ts';
import type {
  CallScope,
  EntryStat,
  FileContent,
  FsHandle,
  ReadOptions,
  TreeName,
} from '../../contract/capability.ts';
import type { MaybePromise } from '../../contract/json.ts';
import { locate, unlessAbsent } from './beneath.ts';
import { type FileBytes, readLocated, SYNC_LIMIT } from './read-file.ts';
import { whereItLeads } from './real-names.ts';
import type { LastLink, Located, Place, Root } from './root.ts';
import {
  absolute,
  isOnOurMount,
  makeRoots,
  modeOf,
  nameOf,
  O_NOFOLLOW,
  O_NONBLOCK,
  refuseTemp,
  release,
  spellingOf,
  toPlace,
  typeOf,
} from './root.ts';

/** What the handles of one runtime share. */
interface Shared {
  readonly rootOf: (scope: CallScope) => Root;
  readonly lister: () => Promise<import('./list.ts').List>;
  readonly mutator: () => Promise<import('./mutate/mutate.ts').Mutator>;
}

interface FsOptions {
  readonly exact?: boolean;
  /** Whether a process still runs, by the name that it gave itself. */
  readonly isAlive?: ((process: string) => boolean) | undefined;
}

/**
 * For the preset: the factory that a runtime keeps for as long as it lives. `exact: false` asks for the weaker way of
 * other systems where Linux could do better.
 */
export function createFsCapability(options: FsOptions = {}): (scope: CallScope) => FsHandle {
  const roots = new Map<string, Root>();
  const shared: Shared = {
    rootOf({ root, extraRoots }) {
      const key = extraRoots.length === 0 ? root : [root, ...extraRoots].join('\0');
      const known = roots.get(key);
      if (known) return known;
      const made = makeRoots(root, extraRoots, options.exact);
      roots.set(key, made);
      return made;
    },
    // Asking the module loader costs more than a small listing, also for what it has loaded already.
    lister: once(async () => (await import('./list.ts')).createLister()),
    mutator: once(async () => (await import('./mutate/mutate.ts')).createMutator(options.isAlive)),
  };
  return (scope) => handleFor(scope, shared);
}

/** One handle on its own, sharing nothing. */
export function createFsHandle(scope: CallScope): FsHandle {
  return createFsCapability()(scope);
}

function handleFor(scope: CallScope, shared: Shared): FsHandle {
  const root = shared.rootOf(scope);
  if (!root.exact) {
    const message =
      'Paths are checked by name on this system: a link swapped during the call is noticed, not prevented';
    scope.warn({ reason: 'path.by_name', message });
  }
  // Reading is what a cold start waits for; the rest is loaded when it is asked for.
  return {
    read: (path, options) => read(scope, root, path, options),
    stat: (path) => stat(scope, root, path),
    list: async (query) => (await shared.lister())(scope, root, query),
    open: (path) => open(scope, root, path),
    tree: (path) => tree(scope, root, path),
    mutate: async (edits) => (await shared.mutator()).mutate(edits, scope, root),
    preview: async (edits) => (await shared.mutator()).preview(edits, scope, root),
    check: async (edits) => (await shared.mutator()).check(edits, scope, root),
  };
}

function read(
  scope: CallScope,
  root: Root,
  path: string,
  options: ReadOptions = {},
): MaybePromise<FileContent> {
  const named = admittedName(scope, root, path, 'read');
  const { range, maxBytes = SYNC_LIMIT } = options;
  const direct = range ? undefined : readDirect(named.root, named.rel, Math.min(maxBytes, SYNC_LIMIT));
  if (direct) return contentOf(named, direct);
  const found = admittedPlace(scope, named, 'read', 'follow');
  try {
    const result = readLocated(found, { ...options, signal: scope.signal });
    return result instanceof Promise
      ? result.then((bytes) => contentOf(found, bytes))
      : contentOf(found, result);
  } finally {
    // The content has a descriptor of its own by now.
    release(found);
  }
}

function contentOf({ root, rel }: Place, { bytes, stat }: FileBytes): FileContent {
  return { bytes, size: Number(stat.size), mode: modeOf(stat), path: nameOf(root, rel) };
}

function stat(scope: CallScope, root: Root, path: string): EntryStat | undefined {
  const found = unlessAbsent(() =>
    admittedPlace(scope, admittedName(scope, root, path, 'stat'), 'stat', 'keep'),
  );
  if (!found) return undefined;
  release(found);
  const { stat } = found;
  return {
    type: typeOf(stat),
    size: Number(stat.size),
    mode: modeOf(stat),
    mtimeMs: Number(stat.mtimeNs / 1_000_000_000n) * 1e3 + Number(stat.mtimeNs % 1_000_000_000n) / 1e6,
  };
}

async function open(scope: CallScope, root: Root, path: string): Promise<OpenFile> {
  const { openFile } = await import('./open-file.ts');
  const found = admittedPlace(scope, admittedName(scope, root, path, 'open'), 'open', 'follow');
  try {
    return openFile(found);
  } finally {
    release(found);
  }
}

async function tree(scope: CallScope, root: Root, path: string): Promise<readonly TreeName[]> {
  const { treeNames } = await import('./open-file.ts');
  const named = toPlace(root, spellingOf(scope, path), 'read');
  const effect = { kind: 'fs.read', path: nameOf(named.root, named.rel), tree: true } as const;
  scope.admit(effect);
  const found = locate(named.root, named.rel, 'read', 'follow');
  try {
    if (found.rel !== named.rel || found.root !== named.root)
      scope.admit(effect, { kind: 'fs.read', path: nameOf(found.root, found.rel), tree: true });
    return await treeNames(found, scope.signal);
  } finally {
    release(found);
  }
}

/** By name before the disk is looked at, so that nobody learns what exists where they may not read. */
function admittedName(scope: CallScope, root: Root, path: string, verb: string): Place {
  const named = toPlace(root, spellingOf(scope, path), verb);
  scope.admit({ kind: 'fs.read', path: nameOf(named.root, named.rel) });
  return named;
}

/** Where the name leads, admitted again when that is elsewhere. */
function admittedPlace(scope: CallScope, named: Place, verb: string, last: LastLink): Located {
  let found: Located;
  try {
    found = locate(named.root, named.rel, verb, last);
  } catch (thrown) {
    admitLed(scope, named, last);
    throw thrown;
  }
  if (found.rel === named.rel && found.root === named.root) return found;
  try {
    refuseTemp(found, verb);
    const effect = { kind: 'fs.read', path: nameOf(named.root, named.rel) } as const;
    scope.admit(effect, { kind: 'fs.read', path: nameOf(found.root, found.rel) });
  } catch (thrown) {
    release(found);
    throw thrown;
  }
  return found;
}

/** Of a place that cannot be had: why is told only to those who may look at where links lead. */
function admitLed(scope: CallScope, named: Place, last: LastLink): void {
  const led = whereItLeads(named, last);
  if (!led || (led.root === named.root && led.rel === named.rel)) return;
  const effect = { kind: 'fs.read', path: nameOf(named.root, named.rel) } as const;
  scope.admit(effect, { kind: 'fs.read', path: nameOf(led.root, led.rel) });
}

const FLAGS = constants.O_RDONLY | constants.O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
const BIG = { bigint: true } as const;
const QUIET = { throwIfNoEntry: false } as const;

/** `rel` is normalised. Undefined is no answer about the file: ask `locate` and `readLocated`. */
function readDirect(root: Root, rel: string, mostBytes: number): FileBytes | undefined {
  const named = absolute(root, rel);
  // The kernel marks what was removed by this suffix, so such a name proves nothing.
  if (!root.exact || named.endsWith(' (deleted)')) return undefined;
  let fd: number | undefined;
  try {
    // Before opening: opening a device may have an effect.
    const seen = lstatSync(named, QUIET);
    if (!seen?.isFile() || seen.size > mostBytes) return undefined;
    fd = openSync(named, FLAGS);
    if (readlinkSync(`/proc/self/fd/${fd}`) !== named) return undefined;
    // Directly below the root no folder lies between that could be a link into another mount namespace.
    if (rel.includes('/') && !isOnOurMount(root, fd)) return undefined;
    // One byte more than expected tells growth without another call.
    const buffer = Buffer.allocUnsafe(seen.size + 1);
    const got = readSync(fd, buffer, 0, buffer.length, 0);
    const stat = fstatSync(fd, BIG);
    if (!stat.isFile() || got !== seen.size || Number(stat.size) !== got) return undefined;
    return { bytes: buffer.subarray(0, got), stat };
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
