// Owns: the whole run of base64 characters that a secret was found in: the first and the last of its own hold other bits as well.
// Refuses: to go on in another line: lines of base64 are whole groups of four, and a group is all that bytes share.
import type { Span } from './automaton.ts';

/** Adds each span with the run that it lies in, and the padding. Answers from where on more text could change that. */
export function findBase64Runs(text: string, spans: readonly Span[], found: Span[]): number {
  let settled = text.length;
  let last: Span = [0, 0];
  for (const [from, to] of spans) {
    // One of the same run: nothing is walked through twice.
    if (from >= last[0] && to <= last[1]) continue;
    last = [startOfRun(text, from), endOfRun(text, to)];
    if (last[1] === text.length) settled = Math.min(settled, last[0]);
    found.push(last);
  }
  return settled;
}

/** Where the run begins that goes on at `at`. */
export function startOfRun(text: string, at: number): number {
  let start = at;
  while (start > 0 && isBase64(text.charCodeAt(start - 1))) start -= 1;
  return start;
}

function endOfRun(text: string, at: number): number {
  let end = at;
  while (end < text.length && isBase64(text.charCodeAt(end))) end += 1;
  for (let signs = 0; signs < 2 && text.charCodeAt(end) === PADDING; signs += 1) end += 1;
  return end;
}

const PADDING = 61;

/** Of either alphabet. */
const isBase64 = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 47 && code <= 57) ||
  code === 43 ||
  code === 45 ||
  code === 95;
