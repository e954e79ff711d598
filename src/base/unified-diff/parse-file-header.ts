// Owns the lines that name a file in a diff: "diff --git" with its extended lines, and "---"/"+++".
// Refuses to read hunks.
import type { FilePatch } from './file-patch.ts';
import { unquotePath } from './quote-path.ts';

export interface FileHeader extends Omit<FilePatch, 'hunks'> {
  /** True when the header alone is a change: a mode, a rename, an empty file made or deleted. */
  readonly complete: boolean;
  /** What shows that lines of the file's part are missing: always, or only where no hunk follows. */
  readonly cut?: { readonly why: string; readonly always: boolean };
  /** Index of the first line after the header. */
  readonly next: number;
}

/** Reads the file header that begins at `at`, or undefined when none does. */
export function parseFileHeader(lines: readonly string[], at: number): FileHeader | undefined {
  if (lines[at]!.startsWith(GIT)) return parseGitHeader(lines, at);
  return startsPlainHeader(lines, at) ? parsePlainHeader(lines, at) : undefined;
}

export function startsPlainHeader(lines: readonly string[], at: number): boolean {
  return lines[at]!.startsWith('--- ') && (lines[at + 1]?.startsWith('+++ ') ?? false);
}

const GIT = 'diff --git ';
const EXTENDED =
  /^(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|rename old|rename new|similarity index|dissimilarity index|index) (.*)$/;
/** What git, with and without diff.mnemonicPrefix or -R, puts before the two paths. */
const PREFIX_PAIRS = new Set('a b,b a,i w,w i,c i,i c,c w,w c,o w,w o,1 2,2 1'.split(','));
const EPOCH = /^(1970-01-01|1969-12-31)[ T]/;

function parseGitHeader(lines: readonly string[], start: number): FileHeader {
  const named = splitGitNames(lines[start]!.slice(GIT.length));
  const extended = new Map<string, string>();
  let at = start + 1;
  for (let match = EXTENDED.exec(lines[at] ?? ''); match; match = EXTENDED.exec(lines[++at] ?? '')) {
    extended.set(
      match[1]!.replace('rename old', 'rename from').replace('rename new', 'rename to'),
      match[2]!,
    );
  }
  let [before, after] = named;
  if (at < lines.length && startsPlainHeader(lines, at)) {
    before = readPath(lines[at]!).path;
    after = readPath(lines[at + 1]!).path;
    at += 2;
  }
  const prefixed = hasPrefixes(named[0], named[1]);
  const moved = extended.has('rename from') ? 'rename' : extended.has('copy from') ? 'copy' : undefined;
  const created = extended.has('new file mode') || before === null;
  const deleted = extended.has('deleted file mode') || after === null;
  const change = created ? 'create' : deleted ? 'delete' : (moved ?? 'modify');
  const modeBefore = extended.get('old mode') ?? extended.get('deleted file mode');
  const modeAfter = extended.get('new mode') ?? extended.get('new file mode');
  const [, hashBefore, hashAfter] =
    /^([0-9a-f]{7,64})\.\.([0-9a-f]{7,64})(?: |$)/.exec(extended.get('index') ?? '') ?? [];
  const cut = cutHeader(extended, lines[start]!, lines[at]);
  return {
    change,
    pathBefore: created ? null : moved ? barePath(extended.get(`${moved} from`)!) : strip(before, prefixed),
    pathAfter: deleted ? null : moved ? barePath(extended.get(`${moved} to`) ?? '') : strip(after, prefixed),
    ...(modeBefore === undefined ? {} : { modeBefore }),
    ...(modeAfter === undefined ? {} : { modeAfter }),
    ...(hashBefore === undefined || hashAfter === undefined ? {} : { hashBefore, hashAfter }),
    ...(cut === undefined ? {} : { cut }),
    complete: [...extended.keys()].some((key) => !key.endsWith('index')),
    next: at,
  };
}

const PAIRS = [
  ['old mode', 'new mode'],
  ['rename from', 'rename to'],
  ['copy from', 'copy to'],
] as const;

/** Git writes these lines in pairs, and hunks below two hashes, unless one is of no file and one of an empty one. */
function cutHeader(
  extended: ReadonlyMap<string, string>,
  gitLine: string,
  next: string | undefined,
): FileHeader['cut'] {
  for (const [one, other] of PAIRS) {
    if (extended.has(one) !== extended.has(other)) {
      return { why: `"${extended.has(one) ? other : one}" is missing`, always: true };
    }
  }
  const target = extended.get('rename to') ?? extended.get('copy to');
  if (next === undefined && target !== undefined && !gitLine.endsWith(target.replace(/^"/, ''))) {
    return { why: `"${target}" is not the name that its first line gives`, always: true };
  }
  const whole = /^0{4,}\.\.e69de29|^e69de29[0-9a-f]*\.\.0{4,}/.test(extended.get('index') ?? '');
  const told = extended.has('index') || extended.has('new file mode');
  const similar = extended.get('similarity index') ?? '100%';
  if (next?.startsWith('--- ') || (told && !whole) || similar !== '100%') {
    return { why: 'its hunks are missing', always: false };
  }
  return undefined;
}

function parsePlainHeader(lines: readonly string[], at: number): FileHeader {
  const before = readPath(lines[at]!);
  const after = readPath(lines[at + 1]!);
  const emptyBefore = /^@@ -0,0 /.test(lines[at + 2] ?? '');
  const emptyAfter = /^@@ -\S+ \+0,0 /.test(lines[at + 2] ?? '');
  // diff -N names an absent file like the present one, and dates it at the epoch.
  const created = before.path === null || (emptyBefore && EPOCH.test(before.stamp));
  const deleted = after.path === null || (emptyAfter && EPOCH.test(after.stamp));
  const prefixed = hasPrefixes(before.path ?? 'a/', after.path ?? 'b/');
  return {
    change: created ? 'create' : deleted ? 'delete' : 'modify',
    pathBefore: created ? null : strip(before.path, prefixed),
    pathAfter: deleted ? null : strip(after.path, prefixed),
    complete: false,
    next: at + 2,
  };
}

/** The path of a "--- " or "+++ " line, and the time stamp behind it. */
function readPath(line: string): { path: string | null; stamp: string } {
  const rest = line.slice(4);
  const quoted = unquotePath(rest);
  if (quoted) return { path: quoted.path, stamp: rest.slice(quoted.end).trim() };
  const tab = rest.indexOf('\t');
  const stamp = tab < 0 ? /\s+(\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*)$/.exec(rest) : null;
  const path = tab >= 0 ? rest.slice(0, tab) : (stamp ? rest.slice(0, stamp.index) : rest).trimEnd();
  return {
    path: path === '/dev/null' ? null : path,
    stamp: tab >= 0 ? rest.slice(tab + 1) : (stamp?.[1] ?? ''),
  };
}

function barePath(text: string): string {
  return unquotePath(text)?.path ?? text;
}

/** The two names of a "diff --git" line. Bare names may hold spaces: then both halves name one file. */
function splitGitNames(rest: string): [string | null, string | null] {
  const first = unquotePath(rest);
  if (first) return [first.path, barePath(rest.slice(first.end + 1))];
  const quote = rest.endsWith('"') ? rest.indexOf(' "') : -1;
  if (quote >= 0) return [rest.slice(0, quote), barePath(rest.slice(quote + 1))];
  const middle = (rest.length - 1) / 2;
  const [left, right] = [rest.slice(0, middle), rest.slice(middle + 1)];
  if (rest[middle] === ' ' && (left === right || left.slice(1) === right.slice(1))) return [left, right];
  const space = rest.includes(' b/') ? rest.lastIndexOf(' b/') : rest.indexOf(' ');
  return space < 0 ? [rest, rest] : [rest.slice(0, space), rest.slice(space + 1)];
}

function hasPrefixes(before: string | null, after: string | null): boolean {
  if (before?.[1] !== '/' || after?.[1] !== '/') return false;
  return PREFIX_PAIRS.has(`${before[0]} ${after[0]}`);
}

function strip(path: string | null, prefixed: boolean): string | null {
  return path !== null && prefixed ? path.slice(2) : path;
}
