// Owns one hunk of a patch text: its header and the extent of its body.
// Refuses to trust the header's counts where the body shows them wrong.
import type { Hunk, HunkLine } from './file-patch.ts';
import { startsPlainHeader } from './parse-file-header.ts';

export interface ParsedHunk {
  readonly hunk: Hunk;
  /** Index of the first line after the hunk. */
  readonly next: number;
  /** True when the header's counts bound the body; else it ends where lines stop looking like one. */
  readonly counted: boolean;
}

export function parseHunk(lines: readonly string[], at: number): ParsedHunk {
  const header = parseHunkHeader(lines[at]!);
  const body = readCounted(lines, at + 1, header) ?? readUncounted(lines, at + 1);
  const { oldStart, oldCount, newStart, heading } = header;
  return {
    hunk: { oldStart, oldCount, newStart, heading, lines: body.lines, patchLine: at + 1 },
    next: body.next,
    counted: body.counted,
  };
}

export function startsHunk(line: string): boolean {
  return /^@@(?:\s|$)/.test(line);
}

/** The signature that ends a mailed patch: "-- " and the version of git. */
export function isSignature(lines: readonly string[], at: number): boolean {
  return /^-- ?$/.test(lines[at]!) && /^\d+\.\d/.test(lines[at + 1] ?? '');
}

interface HunkHeader {
  readonly oldStart: number | undefined;
  readonly oldCount: number | undefined;
  readonly newStart: number | undefined;
  readonly newCount: number | undefined;
  readonly heading: string;
}

interface Body {
  readonly lines: readonly HunkLine[];
  readonly next: number;
  readonly counted: boolean;
}

function parseHunkHeader(line: string): HunkHeader {
  const match = /^@@\s+-(\d+)(?:,(\d+))?(?:\s+\+(\d+)(?:,(\d+))?)?\s*(?:@@+(.*))?$/.exec(line);
  if (!match) {
    const heading = line.replace(/^@@\s*(.*?)\s*(?:@@)?$/, '$1');
    return { oldStart: undefined, oldCount: undefined, newStart: undefined, newCount: undefined, heading };
  }
  const [, oldStart, oldCount, newStart, newCount, heading] = match;
  return {
    oldStart: Number(oldStart),
    oldCount: Number(oldCount ?? 1),
    newStart: newStart === undefined ? undefined : Number(newStart),
    newCount: newStart === undefined ? undefined : Number(newCount ?? 1),
    heading: heading?.trim() ?? '',
  };
}

/** Takes exactly as many lines as the header says; undefined when the counts cannot be right. */
function readCounted(lines: readonly string[], start: number, header: HunkHeader): Body | undefined {
  if (header.oldCount === undefined || header.newCount === undefined) return undefined;
  const body: HunkLine[] = [];
  let [oldLeft, newLeft] = [header.oldCount, header.newCount];
  let at = start;
  for (; at < lines.length && (oldLeft > 0 || newLeft > 0 || lines[at]!.startsWith('\\')); at++) {
    if (!takeLine(body, lines[at]!)) return undefined;
    if (lines[at]!.startsWith('\\')) continue;
    const { op } = body[body.length - 1]!;
    if (op !== '+') oldLeft--;
    if (op !== '-') newLeft--;
  }
  if (oldLeft !== 0 || newLeft !== 0 || changeFollows(lines, at) || atePathLines(lines, at)) return undefined;
  return { lines: body, next: at, counted: true };
}

/** A body-like run behind the counted end that still changes something: the counts were too small. */
function changeFollows(lines: readonly string[], start: number): boolean {
  for (let at = start; at < lines.length; at++) {
    const line = lines[at]!;
    if (!/^(?:[ +-]|\r?$)/.test(line) || startsPlainHeader(lines, at)) return false;
    if (line === '-- ' || isSignature(lines, at)) return false;
    if (line.startsWith('+') || line.startsWith('-')) return true;
  }
  return false;
}

/** The counts were too big and the last lines taken were the next file's header. */
function atePathLines(lines: readonly string[], next: number): boolean {
  const [before, after] = [lines[next - 2] ?? '', lines[next - 1] ?? ''];
  if (!/^--- (?:"?a\/|\/dev\/null)/.test(before) || !/^\+\+\+ (?:"?b\/|\/dev\/null)/.test(after))
    return false;
  return startsHunk(lines[next] ?? '');
}

/** Takes lines as long as they look like a body. Empty lines at its end are separators, not context. */
function readUncounted(lines: readonly string[], start: number): Body {
  const body: HunkLine[] = [];
  let at = start;
  let stripped = 0;
  for (; at < lines.length; at++) {
    const line = lines[at]!;
    if (startsPlainHeader(lines, at) && startsHunk(lines[at + 2] ?? '')) break;
    if (isSignature(lines, at) || !takeLine(body, line)) break;
    stripped = line === '' ? stripped + 1 : 0;
  }
  body.length -= stripped;
  return { lines: body, next: at, counted: false };
}

/** Adds one line of a patch to a hunk's body; false when it cannot belong to one. */
function takeLine(body: HunkLine[], line: string): boolean {
  const op = line[0] ?? ' ';
  if (op === ' ' || op === '-' || op === '+') {
    body.push({ op, text: line.slice(1), terminated: true });
    return true;
  }
  // An empty context line of a CRLF file whose leading space was stripped.
  if (line === '\r') body.push({ op: ' ', text: line, terminated: true });
  else if (op === '\\' && body.length > 0) body.push({ ...body.pop()!, terminated: false });
  else return false;
  return true;
}
