// Owns: which files a diff changes, from its headers and the `path` argument, before anything is read.
// Refuses: headers that climb out of `path`, name another file than it, or name one file twice.
import { joinRel, normalizeRelPath } from '../../base/rel-path.ts';
import { type FilePatch, isPatchSyntaxError } from '../../base/unified-diff/file-patch.ts';
import { isBeginPatch, parseBeginPatch } from '../../base/unified-diff/parse-begin-patch.ts';
import { parsePatch } from '../../base/unified-diff/parse-patch.ts';
import { fail } from '../../contract/errors.ts';

/** One file of a diff, with the paths of the workspace that its headers stand for. */
export interface PatchTarget {
  readonly patch: FilePatch;
  /** Null where the diff creates the file. */
  readonly from: string | null;
  /** Null where the diff deletes the file. */
  readonly to: string | null;
}

/**
 * `path` is a folder, and headers are relative to it, when it is ".", ends in a slash, or the diff names several
 * files or a file that `path` cannot be. Otherwise it is the one file, and headers need only end like it.
 */
export function patchTargets(path: string, diff: string): readonly PatchTarget[] {
  const patches = parse(diff);
  const only = patches.length === 1 ? patches[0]! : undefined;
  const targets =
    only && !isFolder(path) ? [oneFile(path, only)] : patches.map((patch) => below(path, patch));
  refuseTwice(targets);
  return targets;
}

function parse(diff: string): readonly FilePatch[] {
  try {
    return isBeginPatch(diff) ? parseBeginPatch(diff) : parsePatch(diff);
  } catch (thrown) {
    if (!isPatchSyntaxError(thrown)) throw thrown;
    throw fail(thrown.reason, thrown.message, { line: thrown.line });
  }
}

function isFolder(path: string): boolean {
  return path === '.' || path.endsWith('/') || path.endsWith('/.');
}

function oneFile(path: string, patch: FilePatch): PatchTarget {
  const { pathBefore, pathAfter, change } = patch;
  if (pathBefore === null && pathAfter === null) return { patch, from: path, to: path };
  const fromBefore = pathBefore === null ? undefined : alignment(path, pathBefore);
  const fromAfter = pathAfter === null ? undefined : alignment(path, pathAfter);
  if (!fromBefore && !fromAfter) return below(path, patch);
  if (pathBefore !== null && pathAfter !== null && (change === 'rename' || change === 'copy')) {
    if (fromBefore) return { patch, from: path, to: fromBefore(pathAfter) };
    return { patch, from: fromAfter!(pathBefore), to: path };
  }
  return { patch, from: pathBefore === null ? null : path, to: pathAfter === null ? null : path };
}

/** How names of the diff become paths, given that `named` is `path`; undefined when it cannot be. */
function alignment(path: string, named: string): ((other: string) => string) | undefined {
  const [given, header] = [segments(path).join('/'), segments(named).join('/')];
  const top = path.startsWith('/') ? '/' : '.';
  if (given === header) return (other) => joined(top, other);
  if (given.endsWith(`/${header}`)) {
    const base = given.slice(0, -header.length - 1);
    return (other) => joined(top === '/' ? `/${base}` : base, other);
  }
  if (!header.endsWith(`/${given}`)) return undefined;
  const dropped = header.slice(0, -given.length);
  return (other) => {
    if (other.startsWith(dropped)) return joined(top, other.slice(dropped.length));
    throw wrongFile(path, other);
  };
}

function segments(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

function below(folder: string, patch: FilePatch): PatchTarget {
  const { pathBefore, pathAfter } = patch;
  if (pathBefore === null && pathAfter === null) {
    throw fail(
      'patch.wrong_file',
      `Cannot patch "${folder}": the diff does not say which file below it is meant`,
    );
  }
  const inFolder = (name: string | null) => (name === null ? null : joined(folder, name));
  const from = inFolder(pathBefore);
  const to = inFolder(pathAfter);
  // Without a rename header two names are one file compared with its older copy: the new name counts.
  return patch.change === 'modify' ? { patch, from: to, to } : { patch, from, to };
}

function joined(folder: string, name: string): string {
  const rel = normalizeRelPath(name);
  if (!rel.ok || rel.path === '.' || segments(name).includes('..')) throw wrongFile(folder, name);
  const names = segments(folder);
  return joinRel(folder.startsWith('/') ? ['', ...names].join('/') : names.join('/') || '.', rel.path);
}

function wrongFile(path: string, name: string) {
  return fail(
    'patch.wrong_file',
    `Cannot patch "${path}": the patch names "${name}", which is not a relative path below it`,
  );
}

function refuseTwice(targets: readonly PatchTarget[]): void {
  const seen = { from: new Set<string>(), to: new Set<string>() };
  for (const { from, to, patch } of targets) {
    const source = patch.change === 'copy' ? null : from;
    for (const [side, name] of [
      ['from', source],
      ['to', to],
    ] as const) {
      if (name === null) continue;
      if (seen[side].has(name))
        throw fail(
          'patch.malformed',
          `Cannot patch "${name}": the patch names it twice; put all its changes into one part, in the order of its lines`,
        );
      seen[side].add(name);
    }
  }
}
