// Owns: the ways in which a diff, or the file that it is for, is spoilt, and what would be right then.
// Refuses: chance: the same diffs are spoilt alike on every run.
import { isUtf8 } from 'node:buffer';
import { patchTargets } from '../src/tools/fs/patch-targets.ts';
import { patchBytes } from '../src/tools/fs/run-file-patch.ts';

/** One file in two versions, as latin1 text, with git's diff between them. */
export interface Diff {
  readonly name: string;
  readonly old: string;
  readonly fresh: string;
  /** With three lines of context. */
  readonly patch: string;
  /** Without context. */
  readonly bare: string;
}

export interface Tried {
  readonly name: string;
  readonly file: string;
  readonly patch: string;
  /** Results that are right; none where it must be refused. */
  readonly right: readonly string[];
  /** What is left of a diff that was cut is a whole one. */
  readonly boundary?: boolean;
}

/** The text that the engine makes, or the reason of its refusal as an object. */
export function patched({ file, patch }: Tried): string | { readonly refused: string } {
  try {
    const bytes = Buffer.from(patch, 'latin1');
    const target = patchTargets('x/', bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1'))[0]!;
    return Buffer.from(patchBytes('x', Buffer.from(file, 'latin1'), target.patch).bytes).toString('latin1');
  } catch (thrown) {
    return { refused: (thrown as { reason?: string }).reason ?? String(thrown) };
  }
}

interface Perturbation {
  readonly name: string;
  /** True where nothing in the text says what would be right. */
  readonly apart?: boolean;
  readonly make: (diff: Diff, i: number, all: readonly Diff[]) => Tried[];
}

type Spoil = (diff: Diff, random: (below: number) => number) => Partial<Tried> | undefined;

const each =
  (spoil: Spoil): Perturbation['make'] =>
  (diff, i) => {
    const changed = spoil(diff, generator(i + 1));
    if (!changed) return [];
    return [{ name: diff.name, file: diff.old, patch: diff.patch, right: [diff.fresh], ...changed }];
  };

/** The same diff as `diff -u` would write it: nothing says which version it is for. */
const plain = (patch: string) => patch.replace(/^(?:diff|index|old mode|new mode|similarity) .*\n/gm, '');
export const lf = ({ old, fresh }: Diff) => !`${old}${fresh}`.includes('\r');

export const PERTURBATIONS: readonly Perturbation[] = [
  { name: 'nothing', make: each(() => ({})) },
  { name: 'nothing, no index line', make: each(({ patch }) => ({ patch: plain(patch) })) },
  { name: 'lines added above', make: each((diff, random) => shifted(diff, random, diff.patch)) },
  {
    name: 'lines added above, no index line',
    make: each((diff, random) => shifted(diff, random, plain(diff.patch), false)),
  },
  {
    name: 'copies of its lines added above, no index line',
    make: each((diff, random) => shifted(diff, random, plain(diff.patch))),
  },
  { name: 'lines added above and between', make: each(between) },
  { name: 'the block of a hunk copied to the top', make: each(copied) },
  { name: 'applied already', make: each(({ fresh }) => ({ file: fresh, right: [] })) },
  {
    name: 'applied already, no index line',
    make: each(({ fresh, patch }) => ({ file: fresh, patch: plain(patch), right: [] })),
  },
  {
    name: 'applied already, lines added above',
    make: each((diff, random) => ({
      ...shifted({ ...diff, old: diff.fresh }, random, diff.patch),
      right: [],
    })),
  },
  { name: 'reversed', make: each(({ patch }) => ({ patch: reversed(plain(patch)), right: [] })) },
  { name: 'cut off anywhere', make: (diff, i) => cuts(diff, i, diff.patch) },
  { name: 'cut off anywhere, no index line', make: (diff, i) => cuts(diff, i, plain(diff.patch)) },
  { name: 'cut off after a line', make: (diff, i) => cuts(diff, i, plain(diff.patch), true) },
  { name: 'cut off in the file after it', make: cutInNext },
  { name: 'one line lost', make: each(({ patch }, random) => dropLine(plain(patch), random)) },
  { name: 'one line doubled', make: each(({ patch }, random) => doubleLine(plain(patch), random)) },
  { name: 'wrong counts', make: each(({ patch }, random) => ({ patch: wrongCounts(plain(patch), random) })) },
  { name: 'wrong line numbers', make: each(({ patch }, random) => ({ patch: wrongNumbers(patch, random) })) },
  { name: 'a context line of the file edited', make: each(editedContext) },
  {
    name: 'white space at the ends of lines lost',
    make: each(({ patch }) => ({ patch: patch.replace(/[ \t]+$/gm, '') })),
  },
  {
    name: 'empty context lines without their space',
    make: each(({ patch }) => ({ patch: plain(patch).replace(/^ $/gm, '') })),
  },
  { name: 'tabs as spaces', make: each(({ patch }) => ({ patch: patch.replaceAll('\t', '    ') })) },
  {
    name: 'white space at the end of the text lost',
    make: each(({ patch }) => ({ patch: plain(patch).trimEnd() })),
  },
  {
    name: 'an LF diff on a CRLF file',
    make: each((diff) => (lf(diff) ? { file: crlf(diff.old), right: [crlf(diff.fresh)] } : undefined)),
  },
  {
    name: 'a CRLF diff on an LF file',
    make: each((diff) => (lf(diff) ? { patch: crlf(plain(diff.patch)) } : undefined)),
  },
  { name: 'a file that lost its last newline', make: each(withoutNewline) },
  {
    name: 'the marker of a missing newline lost',
    make: each(({ patch }) =>
      patch.includes('\n\\ ') ? { patch: patch.replace(/^\\ .*\n/gm, '') } : undefined,
    ),
  },
  { name: 'no context', make: each(({ bare }) => ({ patch: bare })) },
  {
    name: 'no context, lines added above',
    make: each((diff, random) => ({ ...shifted(diff, random, diff.bare), right: [] })),
  },
  { name: 'bare "@@"', apart: true, make: each(({ patch }) => ({ patch: bareHunks(patch) })) },
  {
    name: 'bare "@@", lines added above',
    apart: true,
    make: each((diff, random) => shifted(diff, random, bareHunks(diff.patch))),
  },
];

export const crlf = (text: string) => text.replaceAll('\n', '\r\n');
const bareHunks = (patch: string) => plain(patch).replace(/^@@ .*$/gm, '@@');

/** By lines of the file itself, which look like what the hunks are about, or by lines that stand nowhere else. */
export function shifted(
  { old, fresh }: Diff,
  random: (below: number) => number,
  patch: string,
  own = true,
): Partial<Tried> {
  const lines = old.split('\n').slice(0, -1);
  const from = random(Math.max(1, lines.length - 20));
  const above = lines
    .slice(from, from + 1 + random(20))
    .map((text, i) => `${own ? text : `// added ${i}`}\n`);
  return { file: above.join('') + old, patch, right: [above.join('') + fresh] };
}

/** Lines above each hunk that no hunk shows, each time another number. */
export function between(diff: Diff, random: (below: number) => number): Partial<Tried> | undefined {
  const [old, fresh] = [diff.old.split('\n'), diff.fresh.split('\n')];
  const headers = [...diff.patch.matchAll(/^@@ -(\d+)(?:,\d+)? \+(\d+)/gm)].map((match) => [
    Number(match[1]) - 1,
    Number(match[2]) - 1,
  ]);
  for (const [before, after] of headers.reverse() as [number, number][]) {
    const added = Array.from({ length: random(4) }, () => `// added ${random(1000)}`);
    if (before < 0 || after < 0) return undefined;
    old.splice(before, 0, ...added);
    fresh.splice(after, 0, ...added);
  }
  return { file: old.join('\n'), patch: plain(diff.patch), right: [fresh.join('\n')] };
}

export function copied({ old, fresh, patch }: Diff, random: (below: number) => number): Partial<Tried> {
  const hunks = hunksOf(patch);
  const hunk = hunks[random(hunks.length)]!;
  const block = hunk
    .filter((line) => /^[ -]/.test(line))
    .map((line) => `${line.slice(1)}\n`)
    .join('');
  return { file: block + old, right: [block + fresh] };
}

export function hunksOf(patch: string): string[][] {
  const hunks: string[][] = [];
  for (const line of patch.split('\n').slice(0, -1)) {
    if (line.startsWith('@@ ')) hunks.push([]);
    else hunks.at(-1)?.push(line);
  }
  return hunks;
}

function reversed(patch: string): string {
  return patch
    .split('\n')
    .map((line, i) => {
      if (i < 2) return line;
      const header = /^@@ -(\S+) \+(\S+) @@/.exec(line);
      if (header) return `@@ -${header[2]} +${header[1]} @@`;
      return line.startsWith('+') ? `-${line.slice(1)}` : line.startsWith('-') ? `+${line.slice(1)}` : line;
    })
    .join('\n');
}

function cuts(diff: Diff, i: number, patch: string, atLines = false): Tried[] {
  const random = generator(i + 1);
  const begin = patch.indexOf('\n@@') + 1;
  return [0, 1, 2].flatMap(() => {
    let at = begin + 1 + random(patch.length - begin - 1);
    if (atLines) at = patch.indexOf('\n', at) + 1 || patch.length;
    const text = patch.slice(0, at);
    if (text === patch) return [];
    return [
      { name: diff.name, file: diff.old, patch: text, right: [diff.fresh], boundary: isBoundary(patch, at) },
    ];
  });
}

/** What is before `at` ends with a hunk's last line, or all but its newline, or all but the markers behind it. */
function isBoundary(patch: string, at: number): boolean {
  const rest = patch.slice(at);
  return /^\n?(?:@@ |diff |\\ |$)/.test(rest) && (patch[at - 1] === '\n' || rest.startsWith('\n'));
}

/** The second of two files is cut in its header: what is left of the first must not be applied alone. */
function cutInNext(diff: Diff, i: number, all: readonly Diff[]): Tried[] {
  const next = all[(i + 1) % all.length]!;
  const header = next.patch.slice(0, next.patch.indexOf('\n@@') + 6);
  const at = 1 + generator(i + 1)(header.length - 1);
  return [{ name: diff.name, file: diff.old, patch: diff.patch + header.slice(0, at), right: [] }];
}

function bodyLine(lines: readonly string[], random: (below: number) => number): number | undefined {
  const body = lines.flatMap((line, i) => (i > 2 && /^[ +-]/.test(line) ? [i] : []));
  return body[random(body.length)];
}

function dropLine(patch: string, random: (below: number) => number): Partial<Tried> {
  const lines = patch.split('\n');
  return { patch: lines.toSpliced(bodyLine(lines, random)!, 1).join('\n') };
}

function doubleLine(patch: string, random: (below: number) => number): Partial<Tried> {
  const lines = patch.split('\n');
  const at = bodyLine(lines, random)!;
  return { patch: lines.toSpliced(at, 0, lines[at]!).join('\n') };
}

function wrongCounts(patch: string, random: (below: number) => number): string {
  const off = (count: string | undefined) => Math.max(0, Number(count ?? 1) + random(7) - 3);
  return patch.replace(
    /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/gm,
    (_, a, b, c, d) => `@@ -${a},${off(b)} +${c},${off(d)} @@`,
  );
}

function wrongNumbers(patch: string, random: (below: number) => number): string {
  return patch.replace(
    /^@@ -(\d+)(.*?) @@/gm,
    (_, start, rest) => `@@ -${Math.max(1, Number(start) + random(41) - 20)}${rest} @@`,
  );
}

export function editedContext(
  { old, fresh, patch }: Diff,
  random: (below: number) => number,
): Partial<Tried> | undefined {
  const start = Number(/^@@ -(\d+)/m.exec(patch)![1]);
  const hunk = hunksOf(patch)[0]!;
  const kept = hunk.flatMap((line, i) => (line.startsWith(' ') ? [i] : []));
  const at = kept[random(kept.length)];
  if (at === undefined) return undefined;
  const place = start - 1 + hunk.slice(0, at).filter((line) => /^[ -]/.test(line)).length;
  const lines = old.split('\n');
  if (lines[place] === undefined) return undefined;
  lines[place] += ' // edited';
  const after = fresh.split('\n');
  const added = start - 1 + hunk.slice(0, at).filter((line) => /^[ +]/.test(line)).length;
  after[added] += ' // edited';
  return { file: lines.join('\n'), patch: plain(patch), right: [after.join('\n')] };
}

export function withoutNewline({ old, fresh, patch }: Diff): Partial<Tried> | undefined {
  if (!old.endsWith('\n') || !fresh.endsWith('\n')) return undefined;
  return { file: old.slice(0, -1), patch: plain(patch), right: [fresh.slice(0, -1)] };
}

/** Small and seeded (mulberry32). */
export function generator(seed: number): (below: number) => number {
  let state = seed * 0x9e3779b1;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
