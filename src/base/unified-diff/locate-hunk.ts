// Owns the search for a hunk's old lines in a file, both given as numbers that stand for equal lines.
// Refuses to guess: a place matches whole or not at all, and its cost stays linear for repeated lines.
import { once } from '../once.ts';
import type { FilePatch, Hunk, HunkLine } from './file-patch.ts';
import { byteOrderMark, type TextLines, textLines, wholeLine } from './text-lines.ts';

type Location =
  | { readonly kind: 'found'; readonly at: number }
  /** More than one place matches; the list ends at MOST_CANDIDATES. */
  | { readonly kind: 'several'; readonly places: readonly number[] }
  /** Matches only where an earlier hunk already changed lines, or before it. */
  | { readonly kind: 'behind'; readonly places: readonly number[] }
  | { readonly kind: 'none' };

interface Bounds {
  /** The first line that no earlier hunk has changed. */
  readonly from: number;
  /** Where the hunk should be, 0-based; undefined when its header has no number. */
  readonly hint: number | undefined;
  /** True when the hunk must reach the end of the file. */
  readonly atEnd: boolean;
}

export const MOST_CANDIDATES = 20;

/** A file's lines as numbers, and for each number the lines that have it, ascending. 0 is no line's of the patch. */
interface NumberedLines {
  readonly ids: Int32Array;
  readonly places: (id: number) => readonly number[];
}

function numberedLines(ids: Int32Array): NumberedLines {
  let places: Map<number, number[]> | undefined;
  const index = () => {
    const made = new Map<number, number[]>();
    for (let at = 0; at < ids.length; at++) {
      const id = ids[at]!;
      if (id === 0) continue;
      const seen = made.get(id);
      if (seen) seen.push(at);
      else made.set(id, [at]);
    }
    return made;
  };
  return {
    ids,
    places: (id) => {
      places ??= index();
      return places.get(id) ?? [];
    },
  };
}

export function locateHunk(file: NumberedLines, wanted: Int32Array, bounds: Bounds): Location {
  const { from, hint } = bounds;
  const last = file.ids.length - wanted.length;
  const fits = (at: number) => (!bounds.atEnd || at === last) && matchesAt(file.ids, wanted, at);
  if (hint !== undefined && fits(hint)) {
    return hint >= from ? { kind: 'found', at: hint } : { kind: 'behind', places: [hint] };
  }
  const search = (start: number) =>
    bounds.atEnd ? [last].filter((at) => at >= start && fits(at)) : findLines(file, wanted, start);
  const places = search(from);
  if (places.length === 1) return { kind: 'found', at: places[0]! };
  if (places.length > 1) return { kind: 'several', places };
  const behind = from > 0 ? search(0) : [];
  return behind.length > 0 ? { kind: 'behind', places: behind } : { kind: 'none' };
}

export function matchesAt(file: Int32Array, wanted: Int32Array, at: number): boolean {
  if (!(at >= 0 && at + wanted.length <= file.length)) return false;
  for (let i = 0; i < wanted.length; i++) if (file[at + i] !== wanted[i]) return false;
  return true;
}

/** Up to `most` places, ascending: those of the line that is rarest, or all in turn where even that one is common. */
export function findLines(
  file: NumberedLines,
  wanted: Int32Array,
  from = 0,
  most = MOST_CANDIDATES,
): number[] {
  let rarest = 0;
  for (let i = 1; i < wanted.length; i++) {
    if (file.places(wanted[i]!).length < file.places(wanted[rarest]!).length) rarest = i;
  }
  const places = wanted.length === 0 ? [] : file.places(wanted[rarest]!);
  if (places.length * wanted.length > file.ids.length) return occurrences(file.ids, wanted, from, most);
  const found: number[] = [];
  for (const place of places) {
    if (found.length === most) break;
    if (place - rarest >= from && matchesAt(file.ids, wanted, place - rarest)) found.push(place - rarest);
  }
  return found;
}

/** Up to `most` places, ascending, by Knuth, Morris and Pratt. */
export function occurrences(
  file: Int32Array,
  wanted: Int32Array,
  from = 0,
  most = MOST_CANDIDATES,
): number[] {
  if (wanted.length === 0) return [];
  const places: number[] = [];
  const borders = borderTable(wanted);
  let matched = 0;
  for (let at = from; at < file.length; at++) {
    while (matched > 0 && file[at] !== wanted[matched]) matched = borders[matched - 1]!;
    if (file[at] === wanted[matched]) matched++;
    if (matched < wanted.length) continue;
    places.push(at - matched + 1);
    if (places.length === most) break;
    matched = borders[matched - 1]!;
  }
  return places;
}

/** For each prefix, the length of its longest proper prefix that is also its suffix. */
function borderTable(wanted: Int32Array): Int32Array {
  const borders = new Int32Array(wanted.length);
  let length = 0;
  for (let i = 1; i < wanted.length; i++) {
    while (length > 0 && wanted[i] !== wanted[length]) length = borders[length - 1]!;
    if (wanted[i] === wanted[length]) length++;
    borders[i] = length;
  }
  return borders;
}

const MOST_REPEATS = 500;
const MOST_VOTES = 1_000_000;

/** The place where most lines agree, ties going to the one nearest to the hint. Used only to explain. */
export function nearestPlace(
  file: NumberedLines,
  wanted: Int32Array,
  hint: number | undefined,
): number | undefined {
  const votes = placeVotes(file, wanted);
  const aim = hint ?? 0;
  let best: number | undefined;
  for (const [at, count] of votes) {
    const rival = best === undefined ? 0 : votes.get(best)!;
    if (count > rival || (count === rival && Math.abs(at - aim) < Math.abs(best! - aim))) best = at;
  }
  return best ?? (hint === undefined || hint < 0 ? undefined : Math.min(hint, file.ids.length));
}

/** A place nearer to the hint than `at` where at least two thirds of the lines agree: it may be the one that is meant. */
export function rivalPlace(
  file: NumberedLines,
  wanted: Int32Array,
  hint: number,
  at: number,
): number | undefined {
  const enough = Math.max(2, Math.ceil((wanted.length * 2) / 3));
  let [best, most] = [undefined as number | undefined, enough - 1];
  for (const [place, count] of placeVotes(file, wanted)) {
    if (count > most && Math.abs(place - hint) < Math.abs(at - hint)) [best, most] = [place, count];
  }
  return best;
}

/** For each place where a line of the hunk stands as it should, how many do. */
function placeVotes(file: NumberedLines, wanted: Int32Array): Map<number, number> {
  const votes = new Map<number, number>();
  let budget = MOST_VOTES;
  for (let i = 0; i < wanted.length && budget > 0; i++) {
    const places = file.places(wanted[i]!).slice(0, MOST_REPEATS);
    for (const at of places) if (at >= i) votes.set(at - i, (votes.get(at - i) ?? 0) + 1);
    budget -= places.length;
  }
  return votes;
}

export interface MatchTarget {
  /** The mark that was set aside because no old line of the patch shows it. */
  readonly mark: string;
  readonly lines: TextLines;
  readonly ids: Int32Array;
  readonly numbered: NumberedLines;
  /** True when the patch itself tells CRLF from LF lines, so that terminators must match too. */
  readonly exactTerminators: boolean;
  /** The same without regard to white space around lines and to what ends them: for places that are almost alike. */
  readonly loosely: () => { readonly lines: NumberedLines; readonly old: (hunk: Hunk) => Int32Array };
  /** The first line from `from` on that is `anchor`, white space around it aside. */
  readonly anchorFrom: (anchor: string, from: number) => number | undefined;
  /** The numbers of a hunk's old lines (' ' and '-') or new lines (' ' and '+'). */
  readonly side: (hunk: Hunk, side: '-' | '+') => Int32Array;
}

export function matchTarget(original: string, patch: FilePatch): MatchTarget {
  const all = patch.hunks.flatMap((hunk) => hunk.lines);
  const showsMark = all.some((line) => line.op !== '+' && byteOrderMark(line.text) !== '');
  const mark = showsMark ? '' : byteOrderMark(original);
  const lines = textLines(original.slice(mark.length));
  const ended = all.filter((line) => line.terminated);
  const exactTerminators = ended.some(endsInCr) && !ended.every(endsInCr);

  // Only the patch's own lines get numbers; 0 stands for every other line of the file.
  const numbers = new Map<string, number>();
  const keyOf = (line: HunkLine) => lineKey(line.text, line.terminated, exactTerminators);
  for (const line of all) {
    const key = keyOf(line);
    if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
  }
  const ids = new Int32Array(lines.count);
  for (let i = 0; i < lines.count; i++) {
    const whole = wholeLine(lines, i);
    const terminated = whole.endsWith('\n');
    ids[i] = numbers.get(lineKey(terminated ? whole.slice(0, -1) : whole, terminated, exactTerminators)) ?? 0;
  }
  const side = (hunk: Hunk, op: '-' | '+') =>
    Int32Array.from(oneSide(hunk, op), (line) => numbers.get(keyOf(line))!);
  return {
    mark,
    lines,
    ids,
    numbered: numberedLines(ids),
    loosely: once(() => looseLines(lines, all)),
    anchorFrom: anchorSearch(lines, patch),
    exactTerminators,
    side,
  };
}

/** The file is walked through once, for all headers. */
function anchorSearch(lines: TextLines, { hunks }: FilePatch): MatchTarget['anchorFrom'] {
  const index = once(() => {
    const anchors = hunks.flatMap((hunk) => hunk.anchors ?? []);
    const places = new Map<string, number[]>(anchors.map((anchor) => [anchor.trim(), []]));
    for (let i = 0; i < lines.count; i++) places.get(wholeLine(lines, i).trim())?.push(i);
    return places;
  });
  return (anchor, from) => {
    const places = index().get(anchor.trim())!;
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle]! < from) low = middle + 1;
      else high = middle;
    }
    return places[low];
  };
}

function looseLines(lines: TextLines, all: readonly HunkLine[]): ReturnType<MatchTarget['loosely']> {
  const numbers = new Map<string, number>();
  for (const { op, text } of all) {
    const key = text.trim();
    if (op !== '+' && !numbers.has(key)) numbers.set(key, numbers.size + 1);
  }
  const ids = new Int32Array(lines.count);
  for (let i = 0; i < lines.count; i++) ids[i] = numbers.get(wholeLine(lines, i).trim()) ?? 0;
  const old = (hunk: Hunk) => Int32Array.from(oneSide(hunk, '-'), ({ text }) => numbers.get(text.trim())!);
  return { lines: numberedLines(ids), old };
}

export function oneSide(hunk: Hunk, op: '-' | '+'): HunkLine[] {
  return hunk.lines.filter((line) => line.op === ' ' || line.op === op);
}

export function endsInCr(line: HunkLine): boolean {
  return line.text.endsWith('\r');
}

/** A line without "\n" equals only another such line; "\n" cannot occur in a line, so it sets them apart. */
function lineKey(text: string, terminated: boolean, exactTerminators: boolean): string {
  if (!terminated) return `\n${text}`;
  return !exactTerminators && text.endsWith('\r') ? text.slice(0, -1) : text;
}
