// Owns: which files a query is about: its glob, its file types, what is never searched, and hints for whoever walks.
// Refuses: to look at the disk, and to know what policy hides.
import { compileGlob, globBase, matchesName } from '../../base/glob.ts';
import { type GlobToken, isSpanName, literalText, parseGlob, splitNames } from '../../base/glob-parse.ts';
import { FILE_TYPES, type SearchQuery, VENDOR_FOLDERS } from '../../contract/search.ts';

export interface Selection {
  /** The folder that the glob begins with; everything that is wanted lies below. */
  readonly base: string;
  /** Whether a file is wanted, by its path as the caller names it. */
  wants(path: string): boolean;
  /** Every wanted file's name matches one of these, in which `*` is any characters and `?` is any one; undefined: no such list. */
  readonly names: readonly string[] | undefined;
  /** How many folders below `base` a wanted file can be in, with `base` itself; undefined: any number. */
  readonly depth: number | undefined;
  /** Whether something wanted may be hidden. */
  readonly hidden: boolean;
  readonly ignored: boolean;
}

type Choice = Pick<SearchQuery, 'glob' | 'fileTypes' | 'includeHidden' | 'includeIgnored'>;

/** Throws `input.glob`. */
export function selectionOf({ glob, fileTypes, includeHidden, includeIgnored }: Choice): Selection {
  const base = globBase(glob);
  const matches = compileGlob(glob, { dot: includeHidden });
  const below = base === '.' ? 0 : base.length + 1;
  const types = fileTypes.flatMap((type) => FILE_TYPES[type]);
  const ways = parseGlob(glob).map(splitNames);
  const depth = base === '.' ? 0 : base.split('/').length;
  return {
    base,
    wants(path) {
      if (!matches(path)) return false;
      if (types.length > 0) {
        const name = path.slice(path.lastIndexOf('/') + 1);
        if (!types.some((type) => matchesName(type, name))) return false;
      }
      return (
        !isNeverSearched(path) && (includeIgnored || !VENDORED.test(below === 0 ? path : path.slice(below)))
      );
    },
    names: types.length > 0 ? types : lastNames(ways),
    depth: ways.some((names) => names.some(isSpanName))
      ? undefined
      : Math.max(...ways.map((names) => names.length)) - depth,
    hidden: includeHidden || ways.some((names) => names.slice(depth).some(isDotted)),
    ignored: includeIgnored,
  };
}

/** The path that a glob without wildcards names; undefined where it has one. */
export function literalPath(glob: string): string | undefined {
  const [names, ...more] = parseGlob(glob).map(splitNames);
  if (!names || more.length > 0) return undefined;
  const texts = names.map(literalText);
  return texts.includes(undefined) ? undefined : texts.join('/') || '.';
}

/** Machinery: Haft's, git's, and files on their way into place. */
export function isNeverSearched(path: string): boolean {
  return path.includes('.') && NEVER.test(path);
}

const NEVER = /(?:^|\/)\.(?:git|haft|haft-tmp-[^/]*)(?:\/|$)/;

const VENDORED = new RegExp(`(?:^|/)(?:${VENDOR_FOLDERS.join('|')})/`);

type Name = readonly GlobToken[];

const isDotted = ([first]: Name) => first?.kind === 'char' && first.code === 0x2e;

/** Undefined where one of them could be anything. */
function lastNames(ways: readonly (readonly Name[])[]): string[] | undefined {
  const names = ways.map((way) => patternOf(way.at(-1) ?? []));
  return names.every((name) => name !== undefined && name !== '*' && name !== '')
    ? (names as string[])
    : undefined;
}

/** Undefined where it stands for more than characters and stars. */
function patternOf(name: Name): string | undefined {
  if (isSpanName(name)) return undefined;
  let pattern = '';
  for (const token of name) {
    if (token.kind === 'star') pattern += '*';
    else if (token.kind === 'char') pattern += plain(String.fromCodePoint(token.code));
    else return undefined;
  }
  return pattern;
}

/** What could be read as a wildcard becomes one; whoever uses the list asks `wants` too. */
const plain = (char: string) => (/[*?[\]{}\\!:,]/.test(char) ? '?' : char);
