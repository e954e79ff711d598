// Owns: what a program may do to each path of the workspace, as mounts: written, only read, not even seen, or a copy in its place.
// Refuses: a protected path that a mount cannot protect, and trust in names: what can be renamed away is pinned. Nor a copy from
// anywhere but Haft's own, or anything of a folder that shows through its copy.
import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { leadsOut } from '../../../base/follow-links.ts';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { isWithin, normalizeRelPath, parentOf } from '../../../base/rel-path.ts';
import type { CodeCopy, SandboxRefusal } from '../../../contract/sandbox.ts';
import { type ExpectedMount, entryId, idOfChecked } from './inspect.ts';

export interface WorkspaceRequest {
  /** Where it is, here and inside. */
  readonly root: string;
  /** Where the sandbox's user finds it outside. */
  readonly source: string;
  /** A file that nobody may open. */
  readonly nothing: string;
  /** Undefined: all of it. */
  readonly visible: readonly string[] | undefined;
  readonly writable: readonly string[] | undefined;
  readonly readOnly: readonly string[];
  readonly hidden: readonly string[];
  /** Shown in the place of folders that are granted. */
  readonly copies?: readonly ShownCopy[];
}

/** The words that make mounts, and what must be found inside: the words alone may be outrun by a program that renames. */
export interface Mounts {
  readonly words: readonly string[];
  readonly expected: readonly ExpectedMount[];
}

export interface WorkspaceMounts extends Mounts {
  /** Protected paths that are not what they were when this was made. */
  disturbed(): string[];
}

/** `empty`: a folder in which only what is mounted there can be found. */
type Access = 'write' | 'read' | 'none' | 'empty';

/** Haft's own state and policy, and git's: a program never changes these. */
const ALWAYS: ReadonlyMap<string, Access> = new Map([
  ['.haft', 'none'],
  ['haft.yaml', 'read'],
  ['haft.lock', 'read'],
  ['.git', 'read'],
]);

export function mountWorkspace(request: WorkspaceRequest): WorkspaceMounts | SandboxRefusal {
  const { root, source, nothing } = request;
  const access = new Map<string, Access>([['.', 'write']]);
  const granted = [
    ...(request.visible ?? []).map((path) => [path, 'read'] as const),
    ...(request.writable ?? []).map((path) => [path, 'write'] as const),
  ];
  if (request.visible) access.set('.', 'empty');
  else if (request.writable) access.set('.', 'read');
  for (const [path, wanted] of granted) {
    const real = realRelative(root, path);
    if (typeof real !== 'string') return real;
    access.set(real, wanted);
  }
  reserveState(root);
  const guarded = [...ALWAYS, ...request.readOnly.map((path) => [path, 'read'] as const)];
  const before = new Map(guarded.map(([path]) => [path, fingerprint(join(root, path))]));
  const guards = new Map<string, Access>();
  for (const [path, wanted] of guarded) {
    const refusal = guard(root, path, wanted, guards);
    if (refusal) return refusal;
  }
  for (const [path, wanted] of guards) protect(path, wanted, access);
  for (const path of request.hidden) {
    const real = realRelative(root, path);
    if (real === '.') return refuse('path.invalid', path, 'the whole workspace cannot be hidden');
    // What is not there cannot be read, and what lies outside is not in the sandbox.
    if (typeof real === 'string') access.set(real, 'none');
    else if (real.reason === 'path.invalid') return real;
  }
  const { copies = [] } = request;
  const mounted = withoutCopied(withPins(withoutCovered(access, guards)), root, copies);
  const planned = planAll(mounted, { root, source, at: root, nothing }, copies);
  return {
    // An empty root takes the mounts first, and nothing afterwards.
    words: [
      ...planned.flatMap(({ words }) => words),
      ...(access.get('.') === 'empty' ? ['--remount-ro', root] : []),
    ],
    expected: planned.map(({ expected }) => expected),
    disturbed: () =>
      [...before].filter(([path, was]) => fingerprint(join(root, path)) !== was).map(([path]) => path),
  };
}

export interface BindRequest {
  /** Where it is outside, where the sandbox's user finds it, and where it appears inside. */
  readonly root: string;
  readonly source: string;
  readonly at: string;
  readonly nothing: string;
  readonly writable: boolean;
  /** Below `root`, absolute and real. */
  readonly readOnly: readonly string[];
  readonly hidden: readonly string[];
}

/** The fences in a folder beside the workspace, over the mount that shows it. */
export function fenceBind(request: BindRequest): Mounts | SandboxRefusal {
  const { root, writable } = request;
  const relative = (path: string) => (path === root ? '.' : path.slice(root.length + 1));
  const access = new Map<string, Access>([['.', writable ? 'write' : 'read']]);
  const guards = new Map<string, Access>();
  for (const path of writable ? request.readOnly : []) {
    const refusal = guard(root, relative(path), 'read', guards);
    if (refusal) return refusal;
  }
  for (const [path, wanted] of guards) protect(path, wanted, access);
  for (const path of request.hidden) {
    if (path === root) return refuse('path.protected', path, 'all of it must be kept from programs');
    if (ignoreErrors(() => realpathSync.native(path)) === path) access.set(relative(path), 'none');
  }
  if (access.size === 1) return { words: [], expected: [] };
  const planned = planAll(withPins(withoutCovered(access, guards)), request).slice(1);
  return {
    words: planned.flatMap(({ words }) => words),
    expected: planned.map(({ expected }) => expected),
  };
}

/** Haft's state folder must exist before a program could make one of its own. */
function reserveState(root: string): void {
  const folder = join(root, '.haft');
  if (lstatSync(folder, { throwIfNoEntry: false })) return;
  ignoreErrors(() => {
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, '.gitignore'), '*\n');
  });
}

/** Demands that a mount on `path` really is on `path`: a link, or a second name, could be changed beside it. */
function guard(
  root: string,
  path: string,
  wanted: Access,
  guards: Map<string, Access>,
): SandboxRefusal | undefined {
  const normal = normalizeRelPath(path);
  if (!normal.ok) return refuse(normal.reason, path, normal.message);
  const stat = lstatSync(join(root, normal.path), { throwIfNoEntry: false });
  if (!stat || (stat.isSymbolicLink() && normal.path === '.git')) return undefined;
  if (ignoreErrors(() => realpathSync.native(join(root, normal.path))) !== join(root, normal.path)) {
    return refuse(
      'path.protected',
      path,
      'it is, or lies behind, a symbolic link, which a program could replace',
    );
  }
  // Packages come with such files, and stores of packages link them; a program can make no second name of one.
  if (stat.isFile() && stat.nlink > 1 && !BELOW.test(normal.path)) {
    return refuse(
      'path.protected',
      path,
      'the file has a second name (a hard link), through which it could be changed',
    );
  }
  if (guards.get(normal.path) !== 'none') guards.set(normal.path, wanted);
  return undefined;
}

/** Policies and repositories below. */
const BELOW = /\/(?:haft\.yaml|haft\.lock|\.git)$/;

/** What is not there stays away, and what was granted below a guarded path is granted no more than the path. */
function protect(path: string, wanted: Access, access: Map<string, Access>): void {
  for (const [granted, how] of access) {
    if (granted === '.' || !isWithin(granted, path)) continue;
    if (wanted === 'none') access.delete(granted);
    else if (how === 'write') access.set(granted, wanted);
  }
  if (inherited(access, path) !== 'empty') access.set(path, wanted);
}

/** Nothing below a guarded or hidden path is given back, and what is not there needs no hiding. */
function withoutCovered(
  access: ReadonlyMap<string, Access>,
  guards: ReadonlyMap<string, Access>,
): Map<string, Access> {
  const kept = new Map(access);
  for (const [path, wanted] of access) {
    if (path === '.') continue;
    if (wanted === 'none' && inherited(access, parentOf(path)) === 'empty') kept.delete(path);
    for (let up = path; up !== '.'; ) {
      up = parentOf(up);
      const above = access.get(up);
      if (above === 'none' || (guards.has(up) && above === 'read' && wanted === 'write')) kept.delete(path);
    }
  }
  return kept;
}

/**
 * A mount goes along when the folder that holds it is renamed, and then its old name is free. A folder that is a mount
 * itself cannot be renamed, so every folder on the way becomes one. Parents come first.
 */
function withPins(access: ReadonlyMap<string, Access>): [string, Access][] {
  const pinned = new Map(access);
  for (const [path, wanted] of access) {
    if (wanted === 'write') continue;
    for (let up = parentOf(path); up !== '.'; up = parentOf(up)) {
      const above = inherited(access, up);
      if (!pinned.has(up) && above !== 'empty') pinned.set(up, above);
    }
  }
  return [...pinned].sort(([a], [b]) => depth(a) - depth(b));
}

function inherited(access: ReadonlyMap<string, Access>, path: string): Access {
  const own = access.get(path);
  return own ?? inherited(access, parentOf(path));
}

const depth = (path: string): number => (path === '.' ? 0 : path.split('/').length);

interface Planned {
  readonly words: readonly string[];
  readonly expected: ExpectedMount;
}

const planAll = (
  access: readonly (readonly [string, Access])[],
  { root, source, at, nothing }: Pick<BindRequest, 'root' | 'source' | 'at' | 'nothing'>,
  copies: readonly ShownCopy[] = [],
): Planned[] =>
  access.map(([path, wanted]) => {
    const copy = wanted === 'none' ? undefined : copies.find((one) => one.at === join(at, path));
    if (copy) return planCopy(copy);
    return plan(wanted, { from: join(source, path), at: join(at, path), host: join(root, path), nothing });
  });

interface Spot {
  readonly from: string;
  readonly at: string;
  readonly host: string;
  readonly nothing: string;
}

function plan(wanted: Access, { from, at, host, nothing }: Spot): Planned {
  const writable = wanted === 'write';
  if (wanted === 'empty')
    return { words: ['--perms', '0755', '--tmpfs', at], expected: { at, id: undefined, writable } };
  if (wanted !== 'none') {
    return {
      words: [writable ? '--bind' : '--ro-bind', from, at],
      expected: { at, id: idOfChecked(host), writable },
    };
  }
  if (!ignoreErrors(() => lstatSync(host).isDirectory()))
    return { words: ['--ro-bind', nothing, at], expected: { at, id: entryId(nothing), writable } };
  // Haft's own folder is in every workspace: programs that walk it find nothing there, instead of failing. What policy
  // hides is not taken for empty.
  const perms = basename(at) === '.haft' ? '0555' : '0000';
  return {
    words: ['--perms', perms, '--tmpfs', at, '--remount-ro', at],
    expected: { at, id: undefined, writable },
  };
}

const planCopy = ({ at, real, source }: ShownCopy): Planned => ({
  words: ['--ro-bind', source, at],
  expected: { at, id: idOfChecked(real), writable: false },
});

function realRelative(root: string, path: string): string | SandboxRefusal {
  const normal = normalizeRelPath(path);
  if (!normal.ok) return refuse(normal.reason, path, normal.message);
  const out = leadsOut(join(root, normal.path), [root], readlinkSync);
  const real = out ? undefined : ignoreErrors(() => realpathSync.native(join(root, normal.path)));
  if (out || (real !== undefined && !isWithin(real, root)))
    return refuse('path.outside_workspace', path, 'it leads out of the workspace');
  if (real === undefined) return refuse('path.not_found', path, 'no such file or folder');
  return real === root ? '.' : real.slice(root.length + 1);
}

/** Changes when the entry is another one, or a file another version. */
function fingerprint(path: string): string {
  const stat = ignoreErrors(() => lstatSync(path, { throwIfNoEntry: false }));
  if (!stat) return '';
  return stat.isFile() ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : `${stat.ino}`;
}

const refuse = (reason: SandboxRefusal['reason'], path: string, fact: string): SandboxRefusal => ({
  reason,
  message: `Cannot prepare "${path}" for the sandbox: ${fact}`,
});

export interface ShownCopy {
  /** Where it appears. */
  readonly at: string;
  /** Where it lies, links followed. */
  readonly real: string;
  /** Where the sandbox's user finds it. */
  readonly source: string;
  /** What below it stays as it is. */
  readonly live?: readonly string[];
}

export type CheckedCopy = Omit<ShownCopy, 'source'>;

/** Tools and programs can neither read nor write there, so that nobody but Haft has put it there. */
export function checkCopy(
  { at, from, live = [] }: CodeCopy,
  workspace: string,
): CheckedCopy | SandboxRefusal {
  const home = join(workspace, '.haft', 'packs');
  const real = ignoreErrors(() => realpathSync.native(from));
  if (real !== undefined && real !== home && isWithin(real, home)) return { at, real, live };
  const message = `Cannot show a copy of "${at}" to the program: it is not below .haft/packs`;
  return { reason: 'path.protected', message };
}

/**
 * The mounts of a workspace, by relative path, without what a copy covers. What is hidden stays hidden, where the copy has it,
 * and what is live stays; everything else below would be the folder's own.
 */
function withoutCopied<A extends string>(
  mounts: readonly (readonly [path: string, access: A])[],
  root: string,
  copies: readonly ShownCopy[],
): (readonly [path: string, access: A])[] {
  if (copies.length === 0) return [...mounts];
  return mounts.filter(([path, access]) => {
    const at = join(root, path);
    const copy = copies.find((one) => one.at !== at && isWithin(at, one.at));
    if (copy?.live?.some((path) => isWithin(at, path))) return true;
    return !copy || (access === 'none' && existsSync(join(copy.real, at.slice(copy.at.length + 1))));
  });
}
