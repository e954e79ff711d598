// Owns: a glob as the walk asks it: whether a path matches, and whether a folder is worth entering.
// Refuses: to know more of globs than their names; what a name means is base/glob's.
import { compileGlob, globBase } from '../../base/glob.ts';

export interface GlobQuery {
  /** The folder to begin in: what the glob spells out before its first wildcard. */
  readonly base: string;
  matches(path: string): boolean;
  mayContain(folder: string): boolean;
}

/** Hidden names match only where the glob spells their dot, unless `hidden`. Throws `input.glob`. */
export function globQuery(glob: string, hidden: boolean): GlobQuery {
  const base = globBase(glob);
  const matches = compileGlob(glob, { dot: hidden });
  const names = plainNames(glob);
  if (!names)
    return { base, matches, mayContain: (folder) => hidden || DOTTED.test(glob) || !isHidden(folder) };
  const depth = base === '.' ? 0 : base.split('/').length;
  const shortcut = cheapMatch(names.slice(depth), hidden, depth);
  return { base, matches: shortcut ?? matches, mayContain: folderCheck(names, hidden) };
}

/** Somewhere in it a name may begin with a dot that is written out. */
const DOTTED = /(^|[/{,\\])\./;

/** The names between slashes; undefined where braces or escapes make them more than text. */
function plainNames(glob: string): string[] | undefined {
  if (/[{\\]/.test(glob)) return undefined;
  return glob.split('/').filter((name) => name !== '' && name !== '.');
}

/** What is asked most often, for all that lies below the base, answered by the end of the path. */
function cheapMatch(
  names: readonly string[],
  hidden: boolean,
  depth: number,
): ((path: string) => boolean) | undefined {
  const deep = names[0] === '**';
  const [last = '*', ...more] = deep ? names.slice(1) : names;
  const ending = /^\*(\.[\w.-]+)?$/.exec(last);
  if (!ending || more.length > 0 || names.length === 0) return undefined;
  const suffix = ending[1] ?? '';
  if (deep) return (path) => path.endsWith(suffix) && (hidden || !isHidden(path));
  return (path) => path.endsWith(suffix) && countSlashes(path) === depth && (hidden || !isHidden(path));
}

/** Folders are asked from the top down, so only the last name is new. */
function folderCheck(names: readonly string[], hidden: boolean): (folder: string) => boolean {
  const checks = names.map((name) => compileGlob(name, { dot: hidden }));
  const span = names.indexOf('**');
  const spelled = span < 0 ? [] : checks.filter((_, at) => at > span && names[at]!.startsWith('.'));
  return (folder) => {
    const at = countSlashes(folder);
    const name = folder.slice(folder.lastIndexOf('/') + 1);
    if (span < 0 || at < span) return at < names.length - 1 && checks[at]!(name);
    return hidden || !name.startsWith('.') || spelled.some((check) => check(name));
  };
}

function countSlashes(path: string): number {
  let count = 0;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) count++;
  return count;
}

function isHidden(path: string): boolean {
  return path.charCodeAt(path.lastIndexOf('/') + 1) === 0x2e;
}
