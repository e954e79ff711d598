// Owns: the same diffs as calls of file_edit and as "*** Begin Patch" texts, spoilt in the ways that those can be, and what would be right.
// Refuses: chance, and to ask the engines what is right: results come from the two versions of a file and from line numbers.
import { isUtf8 } from 'node:buffer';
import { replaceText } from '../src/base/replace-text/replace-text.ts';
import type { Hunk, HunkLine } from '../src/base/unified-diff/file-patch.ts';
import { parsePatch } from '../src/base/unified-diff/parse-patch.ts';
import { patchTargets } from '../src/tools/fs/patch-targets.ts';
import { patchBytes } from '../src/tools/fs/run-file-patch.ts';
import {
  between,
  copied,
  crlf,
  type Diff,
  editedContext,
  generator,
  lf,
  shifted,
  withoutNewline,
} from './patch-perturbations.ts';

type Lines = readonly HunkLine[];
type Applied = string | { readonly refused: string };

/** One way to say what hunks say, without their numbers. */
interface Format {
  readonly name: string;
  apply(file: string, hunks: readonly Hunk[], how: How): Applied;
  /** What it can leave a file as as well: not every format can say whether a last line has a newline. */
  ending(file: string, right: string): string;
}

interface How {
  readonly crlf?: boolean;
  /** With git's headings as "@@" headers, and "*** End of File". */
  readonly headers?: boolean;
  /** Cut off behind so many parts of the text. */
  readonly cut?: number;
}

const sideOf = (lines: Lines, op: '-' | '+') =>
  lines
    .filter((line) => line.op === ' ' || line.op === op)
    .map(({ text, terminated }) => (terminated ? `${text}\n` : text))
    .join('');

const attempt = (work: () => string | { readonly refused: string }): Applied => {
  try {
    return work();
  } catch (thrown) {
    const reason = (thrown as { reason?: string }).reason;
    if (reason === undefined) throw thrown;
    return { refused: reason };
  }
};
/** One character a byte, as everything here is, to text and back. */
const decoded = (bytes: string) => Buffer.from(bytes, 'latin1').toString('utf8');
const encoded = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

const FILE_EDIT: Format = {
  name: 'file_edit',
  ending: (_, right) => right,
  apply(file, hunks, how) {
    if (!isUtf8(Buffer.from(file, 'latin1'))) return { refused: 'input.encoding' };
    const ends = (text: string) => decoded(how.crlf ? crlf(text) : text);
    const edits = hunks.map(({ lines }) => ({
      old: ends(sideOf(lines, '-')),
      new: ends(sideOf(lines, '+')),
      count: 1,
    }));
    const result = replaceText(decoded(file), edits);
    return result.ok ? encoded(result.text) : { refused: result.reason };
  },
};

const BEGIN_PATCH: Format = {
  name: '*** Begin Patch',
  ending: (file, right) => {
    if (file === '' || right === '') return right;
    return file.endsWith('\n')
      ? right.replace(/\r?\n?$/, file.includes('\r\n') ? '\r\n' : '\n')
      : right.replace(/\r?\n$/, '');
  },
  apply(file, hunks, how) {
    const all = beginPatch(file, hunks, how);
    const text = all.slice(0, how.cut === undefined ? undefined : Math.floor(all.length * how.cut));
    return attempt(() => {
      const { patch } = patchTargets('x/', decodedAs(how.crlf ? crlf(text) : text))[0]!;
      return Buffer.from(patchBytes('x', Buffer.from(file, 'latin1'), patch).bytes).toString('latin1');
    });
  },
};

const decodedAs = (text: string) => (isUtf8(Buffer.from(text, 'latin1')) ? decoded(text) : text);

export const FORMATS: readonly Format[] = [FILE_EDIT, BEGIN_PATCH];

function beginPatch(file: string, hunks: readonly Hunk[], { headers }: How): string {
  const lines = file.split('\n');
  const parts = hunks.map((hunk) => {
    const heading = headers && lines.some((line) => line.trim() === hunk.heading.trim()) ? hunk.heading : '';
    const old = hunk.lines.filter(({ op }) => op !== '+').length;
    const count = lines.at(-1) === '' ? lines.length - 1 : lines.length;
    const ends = headers && hunk.oldStart! + Math.max(0, old - 1) === count;
    const body = hunk.lines.map(({ op, text }) => `${op}${text}\n`).join('');
    return `@@${heading === '' ? '' : ` ${heading}`}\n${body}${ends ? '*** End of File\n' : ''}`;
  });
  return `*** Begin Patch\n*** Update File: x\n${parts.join('')}*** End Patch\n`;
}

export interface FormatTried {
  readonly file: string;
  readonly hunks: readonly Hunk[];
  readonly right: readonly string[];
  readonly how?: How;
}

interface FormatPerturbation {
  readonly name: string;
  /** Only for diffs that can be applied as they are: where a place is not certain in the first place, one that is gone leaves a wrong one. */
  readonly certain?: boolean;
  readonly only?: string;
  readonly make: (
    diff: Diff,
    hunks: readonly Hunk[],
    random: (below: number) => number,
  ) => FormatTried | undefined;
}

/** The file, or what is right for it, another; the hunks as they are. */
const other = (
  hunks: readonly Hunk[],
  { old, fresh }: Diff,
  changed: { file?: string; right?: readonly string[] } | undefined,
) => changed && { file: changed.file ?? old, hunks, right: changed.right ?? [fresh] };

const bareHunks = (diff: Diff) => parsePatch(diff.bare)[0]!.hunks;

export const FORMAT_PERTURBATIONS: readonly FormatPerturbation[] = [
  { name: 'nothing', make: (diff, hunks) => other(hunks, diff, {}) },
  {
    name: 'lines added above',
    make: (diff, hunks, random) => other(hunks, diff, shifted(diff, random, '', false)),
  },
  {
    name: 'copies of its lines added above',
    make: (diff, hunks, random) => other(hunks, diff, shifted(diff, random, '')),
  },
  {
    name: 'lines added above and between',
    make: (diff, hunks, random) => other(hunks, diff, between(diff, random)),
  },
  {
    name: 'the block of a hunk copied to the top',
    make: (diff, hunks, random) => other(hunks, diff, copied(diff, random)),
  },
  {
    name: 'the whole file twice',
    make: (diff, hunks) => other(hunks, diff, { file: diff.old.replace(/\n?$/, '\n') + diff.old, right: [] }),
  },
  { name: 'applied already', make: (diff, hunks) => other(hunks, diff, { file: diff.fresh, right: [] }) },
  {
    name: 'applied already, lines added above',
    make: (diff, hunks, random) =>
      other(hunks, diff, { ...shifted({ ...diff, old: diff.fresh }, random, '', false), right: [] }),
  },
  { name: 'reversed', make: (diff, hunks) => other(hunks.map(reversed), diff, { right: [] }) },
  {
    name: 'a context line of the file edited',
    certain: true,
    make: (diff, hunks, random) => other(hunks, diff, editedContext(diff, random)),
  },
  { name: 'a line to remove edited in the file', certain: true, make: editedRemoved },
  { name: 'the file indented otherwise', make: indentedFile },
  { name: 'the call indented otherwise', make: (diff, hunks) => spaced(diff, hunks, indented) },
  {
    name: 'white space at the ends of lines lost',
    make: (diff, hunks) => spaced(diff, hunks, (text) => text.replace(/[ \t]+$/, '')),
  },
  {
    name: 'all white space doubled',
    make: (diff, hunks) => spaced(diff, hunks, (text) => text.replace(/[ \t]+/g, '$&$&')),
  },
  {
    name: 'LF on a CRLF file',
    make: (diff, hunks) =>
      lf(diff) ? { file: crlf(diff.old), hunks, right: [crlf(diff.fresh)] } : undefined,
  },
  {
    name: 'CRLF on an LF file',
    make: (diff, hunks) =>
      lf(diff) ? { file: diff.old, hunks, right: [diff.fresh], how: { crlf: true } } : undefined,
  },
  {
    name: 'a file that lost its last newline',
    make: (diff, hunks) => other(hunks, diff, withoutNewline(diff)),
  },
  { name: 'no context', make: (diff) => other(bareHunks(diff), diff, {}) },
  {
    name: 'no context, lines added above',
    make: (diff, _, random) => other(bareHunks(diff), diff, shifted(diff, random, '', false)),
  },
  {
    name: 'with headers',
    only: '*** Begin Patch',
    make: (diff, hunks) => ({ file: diff.old, hunks, right: [diff.fresh], how: { headers: true } }),
  },
  {
    name: 'with headers, the block of a hunk copied to the top',
    only: '*** Begin Patch',
    make: (diff, hunks, random) => ({ ...other(hunks, diff, copied(diff, random))!, how: { headers: true } }),
  },
  {
    name: 'cut off anywhere',
    only: '*** Begin Patch',
    make: (diff, hunks, random) => ({ file: diff.old, hunks, right: [], how: { cut: random(999) / 1000 } }),
  },
];

/** Undefined where this format or diff is not meant. */
export function triedAs(
  format: Format,
  { certain, only, make }: FormatPerturbation,
  diff: Diff,
  i: number,
): (FormatTried & { readonly result: Applied }) | undefined {
  if (only !== undefined && only !== format.name) return undefined;
  const { hunks } = parsePatch(diff.patch)[0]!;
  if (certain && typeof format.apply(diff.old, hunks, {}) !== 'string') return undefined;
  const tried = make(diff, hunks, generator(i + 1));
  if (!tried) return undefined;
  const right = tried.right.flatMap((one) => [one, format.ending(tried.file, one)]);
  // What a format cannot say at all is no change.
  if (right.includes(tried.file) && tried.right.length > 0) return undefined;
  return { ...tried, right, result: format.apply(tried.file, tried.hunks, tried.how ?? {}) };
}

function reversed(hunk: Hunk): Hunk {
  const swapped = { '-': '+', '+': '-', ' ': ' ' } as const;
  return { ...hunk, lines: hunk.lines.map((line) => ({ ...line, op: swapped[line.op] })) };
}

/** Spaces as tabs, and tabs as spaces. */
function indented(text: string): string {
  return text.replace(/^[ \t]+/, (space) =>
    space.startsWith('\t') ? '    '.repeat(space.length) : '\t'.repeat(space.length),
  );
}

const oldLines = (hunk: Hunk) => hunk.lines.filter(({ op }) => op !== '+');

/** A hunk that shows an indented line must be refused; where none does, its new lines go to where they are meant, as they are. */
function indentedFile({ old }: Diff, hunks: readonly Hunk[]): FormatTried | undefined {
  const file = old.split('\n').map(indented);
  if (file.join('\n') === old) return undefined;
  if (hunks.some((hunk) => oldLines(hunk).some(({ text }) => indented(text) !== text))) {
    return { file: file.join('\n'), hunks, right: [] };
  }
  const right = [...file];
  for (const hunk of hunks.toReversed()) {
    const fresh = hunk.lines.filter(({ op }) => op !== '-').map(({ text }) => text);
    right.splice(hunk.oldStart! - 1, oldLines(hunk).length, ...fresh);
  }
  const marked = hunks.some(({ lines }) => lines.some(({ terminated }) => !terminated));
  return marked ? undefined : { file: file.join('\n'), hunks, right: [right.join('\n')] };
}

/** The lines of the call otherwise than the file has them: refused where that is one which has to be there. */
function spaced(
  { old }: Diff,
  hunks: readonly Hunk[],
  change: (text: string) => string,
): FormatTried | undefined {
  const changed = hunks.map((hunk) => ({
    ...hunk,
    lines: hunk.lines.map((line) => ({ ...line, text: change(line.text) })),
  }));
  const same = changed.every((hunk, i) => sideOf(hunk.lines, '-') === sideOf(hunks[i]!.lines, '-'));
  return same ? undefined : { file: old, hunks: changed, right: [] };
}

function editedRemoved({ old }: Diff, hunks: readonly Hunk[]): FormatTried | undefined {
  const [hunk] = hunks;
  const at = oldLines(hunk!).findIndex(({ op }) => op === '-');
  if (at < 0) return undefined;
  const lines = old.split('\n');
  lines[hunk!.oldStart! - 1 + at] += ' // edited';
  return { file: lines.join('\n'), hunks, right: [] };
}
