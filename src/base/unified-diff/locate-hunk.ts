// Owns the search for a hunk's old lines in a file, both given as numbers that stand for equal lines.
// Refuses to guess: a place matches whole or not at all, and its cost stays linear for repeated lines.

export type Location =
  | { readonly kind: 'found'; readonly at: number }
  /** More than one place matches; the list ends at MOST_CANDIDATES. */
  | { readonly kind: 'several'; readonly places: readonly number[] }
  /** Matches only where an earlier hunk already changed lines, or before it. */
  | { readonly kind: 'behind'; readonly places: readonly number[] }
  | { readonly kind: 'none' };

export interface Bounds {
  /** The first line that no earlier hunk has changed. */
  readonly from: number;
  /** Where the hunk should be, 0-based; undefined when its header has no number. */
  readonly hint: number | undefined;
  /** True when the hunk must reach the end of the file. */
  readonly atEnd: boolean;
}

export const MOST_CANDIDATES = 20;

export function locateHunk(file: Int32Array, wanted: Int32Array, bounds: Bounds): Location {
  const { from, hint } = bounds;
  const last = file.length - wanted.length;
  const fits = (at: number) => (!bounds.atEnd || at === last) && matchesAt(file, wanted, at);
  if (hint !== undefined && fits(hint)) {
    return hint >= from ? { kind: 'found', at: hint } : { kind: 'behind', places: [hint] };
  }
  const search = (start: number) =>
    bounds.atEnd ? [last].filter((at) => at >= start && fits(at)) : occurrences(file, wanted, start);
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

/** Up to MOST_CANDIDATES places, ascending, by Knuth, Morris and Pratt. */
export function occurrences(file: Int32Array, wanted: Int32Array, from = 0): number[] {
  const places: number[] = [];
  const borders = borderTable(wanted);
  let matched = 0;
  for (let at = from; at < file.length; at++) {
    while (matched > 0 && file[at] !== wanted[matched]) matched = borders[matched - 1]!;
    if (file[at] === wanted[matched]) matched++;
    if (matched < wanted.length) continue;
    places.push(at - matched + 1);
    if (places.length === MOST_CANDIDATES) break;
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
  file: Int32Array,
  wanted: Int32Array,
  hint: number | undefined,
): number | undefined {
  const places = new Map<number, number[]>();
  for (const id of wanted) places.set(id, []);
  for (let at = 0; at < file.length; at++) {
    const seen = places.get(file[at]!);
    if (seen && seen.length < MOST_REPEATS) seen.push(at);
  }
  const votes = new Map<number, number>();
  let budget = MOST_VOTES;
  for (let i = 0; i < wanted.length && budget > 0; i++) {
    for (const at of places.get(wanted[i]!)!) if (at >= i) votes.set(at - i, (votes.get(at - i) ?? 0) + 1);
    budget -= places.get(wanted[i]!)!.length;
  }
  const aim = hint ?? 0;
  let best: number | undefined;
  for (const [at, count] of votes) {
    const rival = best === undefined ? 0 : votes.get(best)!;
    if (count > rival || (count === rival && Math.abs(at - aim) < Math.abs(best! - aim))) best = at;
  }
  return best ?? (hint === undefined || hint < 0 ? undefined : Math.min(hint, file.length));
}
