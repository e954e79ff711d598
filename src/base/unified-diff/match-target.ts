// Owns the form in which a file and a patch are compared: each line becomes a number, equal lines the same.
// Refuses to look past anything but line terminators and the byte order mark at the file's start.
import { once } from '../once.ts';
import type { FilePatch, Hunk, HunkLine } from './file-patch.ts';
import { type NumberedLines, numberedLines } from './locate-hunk.ts';
import { byteOrderMark, type TextLines, textLines, wholeLine } from './text-lines.ts';

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
    exactTerminators,
    side,
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
