// Owns the application of one file's patch to that file's text: the whole patch, or a refusal.
// Refuses fuzz: every kept and removed line must match, at a place that is certain (place-hunks.ts).
import { createHash } from 'node:crypto';
import type { FilePatch, Hunk, PatchedText, PatchRefusal } from './file-patch.ts';
import { endsInCr, type MatchTarget, matchTarget, oneSide } from './locate-hunk.ts';
import { type Base, placeHunks } from './place-hunks.ts';
import { byteOrderMark, lineRange, terminatorOf, wholeLine } from './text-lines.ts';

/**
 * Text may be decoded as UTF-8 or, when its bytes are not valid UTF-8, as latin1: only "\r", "\n" and
 * a byte order mark mean anything here. File and patch must be decoded alike. `base` says whether the text is the
 * very one that the patch was made for, where that is known.
 */
export function applyFilePatch(
  original: string,
  patch: FilePatch,
  base: Base = 'unknown',
): PatchedText | PatchRefusal {
  if (patch.unmarked) return applyUnmarked(original, patch, base);
  if (patch.change === 'create' && original !== '') {
    return {
      ok: false,
      reason: 'patch.exists',
      hunk: 0,
      message: 'Cannot create the file: it has content already',
    };
  }
  const target = matchTarget(original, patch);
  for (const [index, hunk] of patch.hunks.entries()) {
    const refusal = refuseMarkers(hunk, index + 1, index + 1 === patch.hunks.length);
    if (refusal) return refusal;
  }
  const placed = placeHunks(target, patch.hunks, base);
  if ('ok' in placed) return placed;
  const pieces: string[] = [];
  let done = 0;
  for (const { hunk, line } of placed) {
    pieces.push(lineRange(target.lines, done, line - 1));
    done = writeHunk(pieces, target, patch.hunks[hunk - 1]!, line - 1);
  }
  pieces.push(lineRange(target.lines, done, target.lines.count));
  return finish(patch, target, pieces.join(''), placed);
}

/** A last line without a newline is matched as if it had one, and the file's new last line is left without one as well. */
function applyUnmarked(original: string, { unmarked: _, ...patch }: FilePatch, base: Base) {
  if (patch.change === 'delete') return { ok: true, text: '', hunksApplied: 0, placed: [] } as const;
  if (original === '' || original.endsWith('\n')) return applyFilePatch(original, patch, base);
  const end = /\r?\n(?=[^\n]*$)/.exec(original)?.[0] ?? '\n';
  const applied = applyFilePatch(original + end, patch, base);
  return applied.ok ? { ...applied, text: applied.text.replace(/\r?\n$/, '') } : applied;
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

/** Undefined where no hash is stated. `hash` may be abbreviated, and of either of git's two kinds. */
export function isBlob(bytes: Uint8Array, hash: string | undefined): boolean | undefined {
  if (hash === undefined || !/^[0-9a-f]{7,64}$/.test(hash)) return undefined;
  return ['sha1', 'sha256'].some((kind) =>
    createHash(kind).update(`blob ${bytes.length}\0`).update(bytes).digest('hex').startsWith(hash),
  );
}
