// Owns where the hunks of a patch go: the place that is certain for each of them, or a refusal.
// Refuses to guess: a stated line counts where its lines stand there, another place only if nothing speaks against it.
import {
  explainAbove,
  explainAmbiguous,
  explainApplied,
  explainNoAnchor,
  explainOverlap,
  explainStale,
  explainUncertain,
} from './explain-refusal.ts';
import type { Hunk, PatchRefusal, PlacedHunk } from './file-patch.ts';
import {
  findLines,
  locateHunk,
  type MatchTarget,
  matchesAt,
  occurrences,
  oneSide,
  rivalPlace,
} from './locate-hunk.ts';
import { wholeLine } from './text-lines.ts';

/** Whether the file is the very one that the patch was made for: its hash is the one that the patch states, or not. */
export type Base = 'same' | 'other' | 'unknown';

/**
 * A hunk goes to its stated line, moved as the hunk before it was, when all of its old lines stand there; else to the
 * one place where they stand. What makes a place uncertain, and is refused:
 * - its lines stand at several places below the hunk before it, unless the file is known by its hash to be the one that
 *   the patch was made for, or the next hunk that stands at one place only has moved as the one above;
 * - its new lines stand there already;
 * - it moved, and has no context, or less than two lines with something to tell; or a place nearer to the stated line is
 *   almost like it; or it was made for the end of a file, and is not there.
 */
export function placeHunks(
  target: MatchTarget,
  hunks: readonly Hunk[],
  base: Base,
): readonly PlacedHunk[] | PatchRefusal {
  const placed: PlacedHunk[] = [];
  // The first line that no earlier hunk has changed, and how far the one before lies below its stated line.
  let from = 0;
  let drift = 0;
  for (const [index, hunk] of hunks.entries()) {
    const number = index + 1;
    const stated = statedPlace(hunk);
    const bound = anchoredFrom(target, hunk, number);
    if (typeof bound !== 'number') return bound;
    const aim: Aim = {
      number,
      from: Math.max(from, bound),
      anchor: bound,
      hint: stated === undefined ? undefined : stated + drift,
      drift,
      base,
    };
    const below = () => nextOffset(target, hunks, index + 1);
    const place = isAddition(hunk) ? placeAddition(target, hunk, aim) : placeHunk(target, hunk, aim, below);
    if (typeof place !== 'number') return place;
    if (stated !== undefined) drift = place - stated;
    placed.push({ hunk: number, line: place + 1, offset: stated === undefined ? 0 : drift });
    from = place + changedLines(hunk);
  }
  return placed;
}

interface Aim {
  readonly number: number;
  readonly from: number;
  /** The line of its last header, where `from` is that; else less. */
  readonly anchor: number;
  /** Where the hunk should be, 0-based; undefined when its header has no number. */
  readonly hint: number | undefined;
  readonly drift: number;
  readonly base: Base;
}

/** The 0-based place that the header states. A count of 0 names the line before the added ones. */
function statedPlace(hunk: Hunk): number | undefined {
  if (hunk.oldStart === undefined) return undefined;
  if (hunk.oldCount === 0 && isAddition(hunk)) return hunk.oldStart;
  return hunk.oldStart === 0 ? undefined : hunk.oldStart - 1;
}

/**
 * The line of a hunk's last "@@" header, or 0. The first lines that fit are taken: later ones would leave fewer places, so
 * that the only place below these is certain.
 */
function anchoredFrom(target: MatchTarget, { anchors = [] }: Hunk, number: number): number | PatchRefusal {
  let next = 0;
  for (const anchor of anchors) {
    const at = target.anchorFrom(anchor, next);
    if (at === undefined) return explainNoAnchor(number, anchor, next);
    next = at + 1;
  }
  return Math.max(0, next - 1);
}

const reachesEnd = (hunk: Hunk): boolean =>
  hunk.atEnd === true || hunk.lines.some((line) => !line.terminated);

function isAddition(hunk: Hunk): boolean {
  return hunk.lines.every((line) => line.op === '+');
}

/** Old lines up to the last change: context behind it may be the next hunk's as well. */
function changedLines(hunk: Hunk): number {
  const end = hunk.lines.findLastIndex((line) => line.op !== ' ') + 1;
  return hunk.lines.slice(0, end).filter((line) => line.op !== '+').length;
}

/** By how much the next hunk whose lines stand at one place only has moved; undefined when there is none. */
function nextOffset(target: MatchTarget, hunks: readonly Hunk[], start: number): number | undefined {
  for (const hunk of hunks.slice(start, start + LOOK_AHEAD)) {
    const stated = statedPlace(hunk);
    if (stated === undefined || isAddition(hunk)) continue;
    const places = findLines(target.numbered, target.side(hunk, '-'), 0, 2);
    if (places.length === 1) return places[0]! - stated;
  }
  return undefined;
}

/** Hunks looked at for one that can be told from all others. */
const LOOK_AHEAD = 8;

function placeHunk(
  target: MatchTarget,
  hunk: Hunk,
  aim: Aim,
  below: () => number | undefined,
): number | PatchRefusal {
  const { number, from, hint, drift, base } = aim;
  const atEnd = reachesEnd(hunk);
  const wanted = target.side(hunk, '-');
  const location = locateHunk(target.numbered, wanted, { from, hint, atEnd });
  if (location.kind === 'none') return explainStale(target, hunk, number, hint);
  if (location.kind === 'several') return explainAmbiguous(number, location.places);
  if (location.kind === 'behind') {
    const above = aim.anchor === from && location.places.every((place) => place < from);
    return above ? explainAbove(number, location.places, from) : explainOverlap(number, location.places);
  }
  const { at } = location;
  if (base === 'same' && at === hint && drift === 0) return at;
  const applied =
    appliedAround(target, hunk, wanted, at) ?? (at === hint ? undefined : appliedAt(target, hunk, hint));
  if (applied !== undefined) return explainApplied(number, applied);
  if (hint === undefined) {
    const twin = twinAtEnd(target, hunk, wanted, from);
    return twin === undefined ? at : explainAmbiguous(number, [at, twin]);
  }
  const bare = !hunk.lines.some((line) => line.op === ' ');
  if (at !== hint || (bare && drift !== 0)) return moved(target, hunk, aim, { at, wanted, bare });
  if (drift === 0 && base === 'unknown') {
    // What lies behind an earlier hunk is out of the question; an unmoved hunk below proves that nothing was added above.
    // A hunk without context was made to go by its number, unless it was made to replace a whole file.
    const byNumber = bare && (hint > 0 || wanted.length === target.lines.count);
    const certain = byNumber || atEnd || isOnly(target, wanted, at, from) || below() === 0;
    return certain ? at : explainAmbiguous(number, findLines(target.numbered, wanted, from));
  }
  // The file differs from the one that the patch was made for, and nobody knows where: the number alone is no proof.
  if (atEnd || isOnly(target, wanted, at) || below() === drift) return at;
  return explainAmbiguous(number, findLines(target.numbered, wanted, from), base === 'other');
}

/** Without a number, the end of a file that lacks only its last newline is as good a place as the one that has it. */
function twinAtEnd(target: MatchTarget, hunk: Hunk, wanted: Int32Array, from: number): number | undefined {
  const { lines, ids } = target;
  const place = lines.count - wanted.length;
  if (lines.terminated || place < from) return undefined;
  const last = oneSide(hunk, '-').at(-1)!;
  if (!last.terminated || last.text.replace(/\r$/, '') !== wholeLine(lines, lines.count - 1))
    return undefined;
  return matchesAt(ids.subarray(0, -1), wanted.subarray(0, -1), place) ? place : undefined;
}

function isOnly(target: MatchTarget, wanted: Int32Array, at: number, from = 0): boolean {
  const places = findLines(target.numbered, wanted, from, 2);
  return places.length === 1 && places[0] === at;
}

/** The one place that matches is not the expected one. */
function moved(
  target: MatchTarget,
  hunk: Hunk,
  { number, hint }: Aim,
  { at, wanted, bare }: { readonly at: number; readonly wanted: Int32Array; readonly bare: boolean },
): number | PatchRefusal {
  if (bare) return explainUncertain(number, at, 'it has no context, and is not at its stated line');
  const applied = appliedElsewhere(target, hunk, wanted);
  if (applied !== undefined) return explainApplied(number, applied);
  const telling = oneSide(hunk, '-').filter((line) => /[\p{L}\p{N}]/u.test(line.text)).length;
  if (wanted.length < 2 || telling === 0) {
    return explainUncertain(number, at, 'it is not at its stated line, and has too few lines to be known by');
  }
  const { lines, old } = target.loosely();
  const rival = rivalPlace(lines, old(hunk), hint!, at);
  if (rival !== undefined) return explainStale(target, hunk, number, rival, at);
  const leading = hunk.lines.findIndex((line) => line.op !== ' ');
  const ends = hunk.lines.at(-1)!.op !== ' ';
  if (ends && leading >= USUAL_CONTEXT && at + wanted.length < target.lines.count) {
    return explainUncertain(
      number,
      at,
      'it has no context below its change, so it was made for the end of a file',
    );
  }
  return at;
}

/** Lines of context that diffs have, unless the file begins or ends before. */
const USUAL_CONTEXT = 3;

/** Where the new lines stand around the old ones at `at`: a change that only adds, made once already. */
function appliedAround(target: MatchTarget, hunk: Hunk, wanted: Int32Array, at: number): number | undefined {
  const fresh = target.side(hunk, '+');
  if (fresh.length <= wanted.length) return undefined;
  return occurrences(fresh, wanted)
    .map((inside) => at - inside)
    .find((place) => matchesAt(target.ids, fresh, place));
}

/** The expected place, where the new lines stand there: of lines that repeat, enough old ones may be left elsewhere. */
function appliedAt(target: MatchTarget, hunk: Hunk, hint: number | undefined): number | undefined {
  const fresh = target.side(hunk, '+');
  if (hint === undefined || fresh.length === 0 || !matchesAt(target.ids, fresh, hint)) return undefined;
  // A single line may stand there by chance, unless all that the hunk does is to leave it.
  return fresh.length > 1 || hunk.lines.every(({ op }) => op !== '+') ? hint : undefined;
}

/** Where the new lines stand, unless the old ones hold them and so say nothing. */
function appliedElsewhere(target: MatchTarget, hunk: Hunk, wanted: Int32Array): number | undefined {
  const fresh = target.side(hunk, '+');
  if (fresh.length < 2 || occurrences(wanted, fresh, 0, 1).length > 0) return undefined;
  return findLines(target.numbered, fresh, 0, 1)[0];
}

/** A hunk of added lines alone has only its number, which is worth nothing once the file proved to be another. */
function placeAddition(target: MatchTarget, hunk: Hunk, aim: Aim): number | PatchRefusal {
  const { number, from, hint, drift, base } = aim;
  const { count, terminated } = target.lines;
  const atEnd = reachesEnd(hunk);
  const at = count === 0 || (atEnd && hint === undefined) ? count : hint;
  if (at === undefined || (drift !== 0 && !atEnd)) return explainAmbiguous(number, []);
  if (base === 'other' && count > 0) return explainAmbiguous(number, [], true);
  if (at < from) return explainOverlap(number, [at]);
  const isEnd = at === count;
  if (at > count || (isEnd && !terminated) || (atEnd && !isEnd)) {
    return explainStale(target, hunk, number, hint);
  }
  const fresh = target.side(hunk, '+');
  if (base !== 'same' && matchesAt(target.ids, fresh, at)) return explainApplied(number, at);
  const above = at - fresh.length;
  if (hunk.atEnd && matchesAt(target.ids, fresh, above)) return explainApplied(number, above);
  return at;
}
