// Owns the application of one file's patch to that file's text: the whole patch, or a refusal.
// Refuses fuzz: every kept and removed line must match; line numbers are only a hint.

import { explainAmbiguous, explainOverlap, explainStale } from './explain-refusal.ts';
import type { FilePatch, Hunk, PatchedText, PatchRefusal } from './file-patch.ts';
import { locateHunk } from './locate-hunk.ts';
import { endsInCr, type MatchTarget, matchTarget, oneSide } from './match-target.ts';
import { byteOrderMark, lineRange, terminatorOf, wholeLine } from './text-lines.ts';

/**
 * Text may be decoded as UTF-8 or, when its bytes are not valid UTF-8, as latin1: only "\r", "\n" and
 * a byte order mark mean anything here. File and patch must be decoded alike.
 */
export function applyFilePatch(original: string, patch: FilePatch): PatchedText | PatchRefusal {
  if (patch.change === 'create' && original !== '') {
    return {
      ok: false,
      reason: 'patch.exists',
      hunk: 0,
      message: 'Cannot create the file: it has content already',
    };
  }
  const target = matchTarget(original, patch);
  const pieces: string[] = [];
  const placed: { hunk: number; line: number }[] = [];
  // Lines of the original already written, and how far hunks lie below the places they state.
  let done = 0;
  let drift = 0;
  for (const [index, hunk] of patch.hunks.entries()) {
    const number = index + 1;
    const refusal = refuseMarkers(hunk, number, number === patch.hunks.length);
    if (refusal) return refusal;
    const stated = statedPlace(hunk);
    const hint = stated === undefined ? undefined : stated + drift;
    const place = hunk.lines.every((line) => line.op === '+')
      ? placeAddition(target, hunk, number, { from: done, hint, drifted: drift !== 0 })
      : placeHunk(target, hunk, number, { from: done, hint });
    if (typeof place !== 'number') return place;
    if (stated !== undefined) drift = place - stated;
    pieces.push(lineRange(target.lines, done, place));
    done = writeHunk(pieces, target, hunk, place);
    placed.push({ hunk: number, line: place + 1 });
  }
  pieces.push(lineRange(target.lines, done, target.lines.count));
  return finish(patch, target, pieces.join(''), placed);
}

/** The 0-based place that the header states. A count of 0 names the line before the added ones. */
function statedPlace(hunk: Hunk): number | undefined {
  if (hunk.oldStart === undefined) return undefined;
  if (hunk.oldCount === 0 && hunk.lines.every((line) => line.op === '+')) return hunk.oldStart;
  return hunk.oldStart === 0 ? undefined : hunk.oldStart - 1;
}

function refuseMarkers(hunk: Hunk, number: number, last: boolean): PatchRefusal | undefined {
  for (const op of ['-', '+'] as const) {
    const open = oneSide(hunk, op).findIndex((line) => !line.terminated);
    if (open < 0 || (last && open === oneSide(hunk, op).length - 1)) continue;
    const message = `Cannot apply hunk ${number}: "\\ No newline at end of file" stands before the end of the file`;
    return { ok: false, reason: 'patch.malformed', hunk: number, message };
  }
  return undefined;
}

interface Aim {
  readonly from: number;
  readonly hint: number | undefined;
}

function placeHunk(
  target: MatchTarget,
  hunk: Hunk,
  number: number,
  { from, hint }: Aim,
): number | PatchRefusal {
  const atEnd = hunk.lines.some((line) => !line.terminated);
  const location = locateHunk(target.ids, target.side(hunk, '-'), { from, hint, atEnd });
  if (location.kind === 'found') return location.at;
  if (location.kind === 'several') return explainAmbiguous(number, location.places);
  if (location.kind === 'behind') return explainOverlap(number, location.places);
  return explainStale(target, hunk, number, hint);
}

/** A hunk of added lines alone has only its number, which is worth nothing once another one proved wrong. */
function placeAddition(
  target: MatchTarget,
  hunk: Hunk,
  number: number,
  { from, hint, drifted }: Aim & { readonly drifted: boolean },
): number | PatchRefusal {
  const { count, terminated } = target.lines;
  const atEnd = hunk.lines.some((line) => !line.terminated);
  const at = count === 0 || (atEnd && hint === undefined) ? count : hint;
  if (at === undefined || (drifted && !atEnd)) return explainAmbiguous(number, []);
  if (at < from) return explainOverlap(number, [at]);
  const reachesEnd = at === count;
  if (at > count || (reachesEnd && !terminated) || (atEnd && !reachesEnd)) {
    return explainStale(target, hunk, number, hint);
  }
  return at;
}

/** Writes a placed hunk up to its last change, and returns the first original line not yet written. */
function writeHunk(pieces: string[], target: MatchTarget, hunk: Hunk, place: number): number {
  const { lines } = target;
  const literal = target.exactTerminators || terminatorsAgree(target, hunk, place);
  const end = hunk.lines.findLastIndex((line) => line.op !== ' ') + 1;
  let at = place;
  let removed: string[] = [];
  let added = 0;
  for (const line of hunk.lines.slice(0, end)) {
    if (line.op === '+') {
      const own = line.terminated ? `${line.text}\n` : line.text;
      const neighbour = () => removed[added] || removed.at(-1) || neighbourTerminator(target, at);
      pieces.push(literal || !line.terminated ? own : withTerminator(own, neighbour()));
      added++;
      continue;
    }
    if (line.op === ' ' || added > 0) [removed, added] = [[], 0];
    if (line.op === ' ') pieces.push(wholeLine(lines, at));
    else removed.push(terminatorOf(wholeLine(lines, at)));
    at++;
  }
  return at;
}

/** True when the added lines can be taken as written: the matched ones end as the patch writes them. */
function terminatorsAgree({ lines }: MatchTarget, hunk: Hunk, place: number): boolean {
  const old = oneSide(hunk, '-').filter((line) => line.terminated);
  // Nothing to compare with: LF is what any writer falls back to, a CR was meant.
  if (old.length === 0) return hunk.lines.some((line) => line.terminated && endsInCr(line));
  return old.every((line, i) => endsInCr(line) === wholeLine(lines, place + i).endsWith('\r\n'));
}

/** How the lines around `at` end: above it first, past a last line that has no terminator. */
function neighbourTerminator({ lines }: MatchTarget, at: number): string {
  const near = [at - 1, at - 2, at].filter((i) => i >= 0 && i < lines.count);
  return near.map((i) => terminatorOf(wholeLine(lines, i))).find((end) => end !== '') ?? '';
}

function withTerminator(own: string, terminator: string): string {
  return terminator === '' ? own : own.replace(/\r?\n$/, terminator);
}

function finish(
  patch: FilePatch,
  target: MatchTarget,
  body: string,
  placed: PatchedText['placed'],
): PatchedText | PatchRefusal {
  if (patch.change !== 'delete') {
    // An added first line may bring the mark that was set aside: it must not stand twice.
    const doubled = target.mark !== '' && placed[0]?.line === 1 && byteOrderMark(body) === target.mark;
    const text = target.mark + (doubled ? body.slice(target.mark.length) : body);
    return { ok: true, text, hunksApplied: placed.length, placed };
  }
  if (body === '') return { ok: true, text: '', hunksApplied: placed.length, placed };
  const message = 'Cannot delete the file: it has lines that the patch does not remove';
  return { ok: false, reason: 'patch.stale', hunk: placed.length, message, found: body.split('\n', 1)[0]! };
}
