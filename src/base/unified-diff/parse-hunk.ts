// Owns one hunk of a patch text: its header and the extent of its body.
// Refuses a body with fewer lines than its header says, or with other changes: something was lost or edited.
import { type Hunk, type HunkLine, patchSyntaxError } from './file-patch.ts';
import { startsPlainHeader } from './parse-file-header.ts';

export interface ParsedHunk {
  readonly hunk: Hunk;
  /** Index of the first line after the hunk. */
  readonly next: number;
  /** True when the header's counts bound the body; else it ends where lines stop looking like one. */
  readonly counted: boolean;
}

/** `ended` is false when the patch text stops without a newline: its last line may be a part of one. */
export function parseHunk(lines: readonly string[], at: number, ended: boolean): ParsedHunk {
  const header = parseHunkHeader(lines[at]!);
  const body = readCounted(lines, at + 1, header) ?? readUncounted(lines, at + 1);
  refuseOtherCounts(header, body, at + 1);
  if (!ended && body.next === lines.length) refuseCutLine(header, lines.at(-1)!, lines.length);
  const { oldStart, oldCount, newStart, heading } = header;
  return {
    hunk: { oldStart, oldCount, newStart, heading, lines: body.lines, patchLine: at + 1 },
    next: body.next,
    counted: body.counted,
  };
}

/**
 * The last line of a text without a newline may be a part of one. An added line would be written as it is. A kept or
 * removed one has to be in the file, but without counts a part of a removed line may be another line, and what replaces
 * it is missing.
 */
function refuseCutLine({ oldStart }: HunkHeader, last: string, number: number): void {
  const kind = last.startsWith('+') ? 'an added' : last.startsWith('-') ? 'a removed' : undefined;
  if (kind === undefined || (kind === 'a removed' && oldStart !== undefined)) return;
  const fact = `it ends in the middle of ${kind} line, line ${number}, or lacks its last newline; if the line is whole, end the diff with a newline, or with the line "\\ No newline at end of file" where the file has none`;
  throw patchSyntaxError('patch.malformed', number, fact);
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

const UNNUMBERED = { oldStart: undefined, oldCount: undefined, newStart: undefined, newCount: undefined };

function parseHunkHeader(line: string): HunkHeader {
  const match = /^@@\s+-(\d+)(?:,(\d+))?(?:\s+\+(\d+)(?:,(\d+))?)?\s*(?:@@+(.*))?$/.exec(line);
  if (!match) {
    const heading = line.replace(/^@@\s*(.*?)\s*(?:@@)?$/, '$1');
    return { ...UNNUMBERED, heading };
  }
  const [, oldStart, oldCount, newStart, newCount, heading] = match;
  // Numbers that no hunk can have stand for none.
  if ([oldStart, oldCount, newStart, newCount].every((number) => Number(number ?? 1) === 0)) {
    return { ...UNNUMBERED, heading: heading?.trim() ?? '' };
  }
  return {
    oldStart: Number(oldStart),
    oldCount: oldCount === undefined && newStart === undefined ? undefined : Number(oldCount ?? 1),
    newStart: newStart === undefined ? undefined : Number(newStart),
    newCount: newStart === undefined ? undefined : Number(newCount ?? 1),
    heading: heading?.trim() ?? '',
  };
}

/**
 * Lines that are missing were cut off or dropped. More lines are fine as long as they add and remove as many as the
 * header says: every old line of them has to be in the file.
 */
function refuseOtherCounts({ oldCount, newCount }: HunkHeader, { lines }: Body, patchLine: number): void {
  if (oldCount === undefined) return;
  const old = lines.filter(({ op }) => op !== '+').length;
  const fresh = lines.filter(({ op }) => op !== '-').length;
  const short = old < oldCount || fresh < (newCount ?? 0);
  if (!short && (newCount === undefined || old - oldCount === fresh - newCount)) return;
  const stated = newCount === undefined ? `${oldCount} old` : `${oldCount} old and ${newCount} new`;
  const fact = `the hunk at line ${patchLine} ${short ? 'is cut off' : 'has other lines than its header says'}: its header says ${stated} lines, it has ${old} and ${fresh}; send all of its lines, or a bare "@@" instead of numbers that are not right`;
  throw patchSyntaxError('patch.malformed', patchLine, fact);
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
