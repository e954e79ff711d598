// Owns the words and places with which a hunk is refused: what the file has where the hunk has something else.
// Refuses to place anything: place-hunks.ts does.
import type { Hunk, HunkLine, PatchRefusal } from './file-patch.ts';
import {
  findLines,
  type MatchTarget,
  MOST_CANDIDATES,
  matchesAt,
  nearestPlace,
  oneSide,
} from './locate-hunk.ts';
import { actualLines, terminatorOf, wholeLine } from './text-lines.ts';

/** `other` when the hash that the patch states is not the file's. */
export function explainAmbiguous(number: number, places: readonly number[], other = false): PatchRefusal {
  const candidates = places.map((at) => at + 1);
  const version = other ? ', and its "index" line is of another version of the file' : '';
  const fact =
    places.length === 0
      ? `it has no line to match and no line number to rely on${version}; add context lines around the added ones`
      : `its lines match at ${lineList(candidates)}${version}; add context lines until they match at one place only`;
  return refusal('patch.ambiguous', number, fact, { candidates });
}

/** Its lines stand at one place, which is not enough to be sure of it. */
export function explainUncertain(number: number, at: number, why: string): PatchRefusal {
  const fact = `${why}; its lines match at line ${at + 1}; add context lines or correct its line number`;
  return refusal('patch.ambiguous', number, fact, { candidates: [at + 1] });
}

export function explainApplied(number: number, at: number): PatchRefusal {
  const fact = `its change is in the file already, at line ${at + 1}`;
  return refusal('patch.stale', number, fact, { line: at + 1, alreadyApplied: true });
}

export function explainOverlap(number: number, places: readonly number[]): PatchRefusal {
  const candidates = places.map((at) => at + 1);
  const fact = `it matches only at ${lineList(candidates)}, where or before the hunk before it changes lines; order hunks by line and merge those that touch`;
  return refusal('patch.overlap', number, fact, { line: candidates[0]!, candidates });
}

/** Its lines stand only above the line that its header names. */
export function explainAbove(number: number, places: readonly number[], header: number): PatchRefusal {
  const candidates = places.map((at) => at + 1);
  const fact = `its lines match at ${lineList(candidates)}, above the line of its "@@" header, which is line ${header + 1}`;
  return refusal('patch.stale', number, fact, { line: header + 1, candidates });
}

/** No line is the one that its header names. */
export function explainNoAnchor(number: number, anchor: string, below: number): PatchRefusal {
  const where = below === 0 ? 'in the file' : `below line ${below}, where the header before it stands`;
  const fact = `no line ${where} is the one of its header ${show(`@@ ${anchor}`)}; a header is a whole line of the file above the change`;
  return refusal('patch.stale', number, fact, { expected: anchor });
}

/** `elsewhere` is a place that matches, but further from the stated line than one that is almost like it. */
export function explainStale(
  target: MatchTarget,
  hunk: Hunk,
  number: number,
  hint: number | undefined,
  elsewhere?: number,
): PatchRefusal {
  const wanted = target.side(hunk, '-');
  const old = oneSide(hunk, '-');
  const applied = appliedPlace(target, hunk, hint);
  if (applied !== undefined) return explainApplied(number, applied);
  const spaced = elsewhere === undefined ? placesButForSpace(target, hunk) : [];
  const place =
    wanted.length === 0
      ? Math.min(hint ?? 0, target.lines.count)
      : elsewhere === undefined
        ? (nearest(spaced, hint) ?? nearestPlace(target.numbered, wanted, hint))
        : hint;
  if (place === undefined) {
    return refusal('patch.stale', number, 'none of its lines is in the file', { expected: old[0]!.text });
  }
  const offset = old.findIndex((_, i) => target.ids[place + i] !== wanted[i]);
  const at = offset < 0 ? place + old.length : place + offset;
  const [line, expected] = [at + 1, offset < 0 ? undefined : old[offset]!];
  const whole = at < target.lines.count ? wholeLine(target.lines, at) : undefined;
  const found = whole?.slice(0, whole.length - terminatorOf(whole).length);
  const also =
    elsewhere === undefined ? '' : `; its lines match at line ${elsewhere + 1}, which is further off`;
  const last = Math.min(place + old.length, target.lines.count) - 1;
  const actual = last < place ? undefined : actualLines(target.lines, place, last);
  const shown =
    spaced.length === 0
      ? ''
      : `; its lines stand at ${lineList(spaced.map((one) => one + 1))} with other white space, where the file has:\n${actual!.text}`;
  return refusal('patch.stale', number, difference(target, line, expected, whole) + also + shown, {
    line,
    ...(actual ? { actual } : {}),
    ...(elsewhere === undefined ? {} : { candidates: [elsewhere + 1] }),
    ...(expected ? { expected: target.exactTerminators ? expected.text : withoutCr(expected.text) } : {}),
    ...(found === undefined ? {} : { found: target.exactTerminators ? whole!.replace(/\n$/, '') : found }),
  });
}

/** A file with more lines is not looked through only to explain. */
const MOST_EXPLAINED = 200_000;

/** Where the old lines stand but for white space around them, and say something. */
function placesButForSpace(target: MatchTarget, hunk: Hunk): readonly number[] {
  if (target.lines.count > MOST_EXPLAINED) return [];
  if (!oneSide(hunk, '-').some(({ text }) => /[\p{L}\p{N}]/u.test(text))) return [];
  const { lines, old } = target.loosely();
  return findLines(lines, old(hunk));
}

function nearest(places: readonly number[], hint: number | undefined): number | undefined {
  if (hint === undefined) return places[0];
  const off = (place: number) => Math.abs(place - hint);
  return places.reduce<number | undefined>(
    (best, place) => (best === undefined || off(place) < off(best) ? place : best),
    undefined,
  );
}

function difference(
  target: MatchTarget,
  line: number,
  expected: HunkLine | undefined,
  whole: string | undefined,
): string {
  if (!expected) {
    if (whole === undefined) return unended(target);
    return `it ends the file at line ${line}, where the file goes on with ${show(whole)}`;
  }
  if (whole === undefined)
    return `the file ends at line ${line - 1}, where the patch has ${show(expected.text)}`;
  if (withoutCr(expected.text) !== withoutCr(whole.replace(/\n$/, ''))) {
    const blank = expected.text.trim() === whole.trim() ? ' (only white space differs)' : '';
    return `line ${line} of the file is ${show(whole)} where the patch has ${show(expected.text)}${blank}`;
  }
  const ends: Record<string, string> = { '': 'no newline', '\n': 'LF', '\r\n': 'CRLF' };
  const theirs = expected.terminated ? (expected.text.endsWith('\r') ? 'CRLF' : 'LF') : 'no newline';
  return `line ${line} of the file ends in ${ends[terminatorOf(whole)]} where the patch has ${theirs}; "\\ No newline at end of file" belongs below a last line without one`;
}

/** A hunk of added lines only, at a place that does not exist or cannot take a line. */
function unended(target: MatchTarget): string {
  if (target.lines.terminated) return `the file has only ${target.lines.count} lines`;
  return 'the last line of the file has no newline; remove and add it again, with "\\ No newline at end of file" below the old one';
}

/** Where the new lines stand: at the place expected or, when they are enough to be known, at one other. */
function appliedPlace(target: MatchTarget, hunk: Hunk, hint: number | undefined): number | undefined {
  const fresh = target.side(hunk, '+');
  // One kept line that still stands says nothing about the lines removed beside it.
  if (fresh.length < (hunk.lines.some((line) => line.op === '+') ? 1 : 2)) return undefined;
  if (hint !== undefined && matchesAt(target.ids, fresh, hint)) return hint;
  const enough = fresh.length >= 3 || (hint === undefined && isTelling(target, hunk));
  const places = enough ? findLines(target.numbered, fresh, 0, 2) : [];
  return places.length === 1 ? places[0] : undefined;
}

/** Whether few new lines are enough: they add something to be known by, and nothing that goes is still there. */
function isTelling(target: MatchTarget, hunk: Hunk): boolean {
  const old = oneSide(hunk, '-');
  const ids = target.side(hunk, '-');
  const remains = old.some(({ op }, i) => op === '-' && target.numbered.places(ids[i]!).length > 0);
  return !remains && hunk.lines.some(({ op, text }) => op === '+' && /[\p{L}\p{N}]/u.test(text));
}

function refusal(
  reason: PatchRefusal['reason'],
  hunk: number,
  fact: string,
  facts: Partial<PatchRefusal>,
): PatchRefusal {
  return { ok: false, reason, hunk, message: `Cannot apply hunk ${hunk}: ${fact}`, ...facts };
}

function lineList(lines: readonly number[]): string {
  if (lines.length === 1) return `line ${lines[0]}`;
  const more = lines.length === MOST_CANDIDATES ? ' and more' : '';
  return `lines ${lines.join(', ')}${more}`;
}

function withoutCr(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

function show(line: string): string {
  const text = line.replace(/\r?\n$/, '');
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
