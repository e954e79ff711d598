// Owns: a glob as the walk asks it: whether a path matches, and whether a folder is worth entering.
// Refuses: to know more of globs than their names; what a name means is base/glob's.
import { compileGlob, globBase } from '../../base/glob.ts';

export interface GlobQuery {
  /** The folder to begin in: what the glob spells out before its first wildcard. */
  readonly base: string;
  /** For the entries of one folder, named with its trailing slash or empty: whether one is wanted, by its name. */
  matcherIn(folder: string): (name: string) => boolean;
  mayContain(folder: string): boolean;
}

/** Agents ask for the same few globs again and again. */
const REMEMBERED = 64;

/** Remembers what it compiled last. */
export function createGlobQueries(): typeof globQuery {
  const known = new Map<string, GlobQuery>();
  return (glob, hidden) => {
    const key = `${hidden ? '+' : '-'}${glob}`;
    const query = known.get(key) ?? globQuery(glob, hidden);
    known.delete(key);
    known.set(key, query);
    if (known.size > REMEMBERED) known.delete(known.keys().next().value!);
    return query;
  };
}

/** Hidden names match only where the glob spells their dot, unless `hidden`. Throws `input.glob`. */
export function globQuery(glob: string, hidden: boolean): GlobQuery {
  const base = globBase(glob);
  const matches = compileGlob(glob, { dot: hidden });
  const matcherIn = (folder: string) => (name: string) => matches(folder + name);
  const names = plainNames(glob);
  if (!names)
    return { base, matcherIn, mayContain: (folder) => hidden || DOTTED.test(glob) || !isHidden(folder) };
  const depth = base === '.' ? 0 : base.split('/').length;
  const shortcut = cheapMatch(names.slice(depth), hidden, depth);
  return { base, matcherIn: shortcut ?? matcherIn, mayContain: folderCheck(names, hidden) };
}

/** Somewhere in it a name may begin with a dot that is written out. */
const DOTTED = /(^|[/{,\\])\./;

/** The names between slashes; undefined where braces or escapes make them more than text. */
function plainNames(glob: string): string[] | undefined {
  if (/[{\\]/.test(glob)) return undefined;
  return glob.split('/').filter((name) => name !== '' && name !== '.');
}

/** What is asked most often, for all that lies below the base, answered by the end of the name. */
function cheapMatch(
  names: readonly string[],
  hidden: boolean,
  depth: number,
): GlobQuery['matcherIn'] | undefined {
  const deep = names[0] === '**';
  const [last = '*', ...more] = deep ? names.slice(1) : names;
  const ending = /^\*(\.[\w.-]+)?$/.exec(last);
  if (!ending || more.length > 0 || names.length === 0) return undefined;
  const suffix = ending[1] ?? '';
  const matches = (name: string) => name.endsWith(suffix) && (hidden || name.charCodeAt(0) !== DOT);
  return (folder) => (deep || countSlashes(folder) === depth ? matches : nothing);
}

const nothing = () => false;
const DOT = 0x2e;

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
  return path.charCodeAt(path.lastIndexOf('/') + 1) === DOT;
}
