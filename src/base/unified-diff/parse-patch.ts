// Owns the reading of unified diffs as git, diff -u, mails and language models write them.
// Refuses combined and binary diffs, and any text of which a part would silently not be applied.
import { type FilePatch, type Hunk, type HunkLine, patchSyntaxError } from './file-patch.ts';
import { type FileHeader, parseFileHeader, startsPlainHeader } from './parse-file-header.ts';

/** The files of a patch text, in its order. Throws a PatchSyntaxError (see file-patch.ts). */
/** Each is looked up, locked and decided before anything changes, while everybody else waits. */
const MOST_FILES = 10_000;

export function parsePatch(text: string): FilePatch[] {
  const lines = splitPatch(text);
  const ended = text.endsWith('\n');
  if (text.trim() === '') throw patchSyntaxError('patch.empty', 1, 'it is empty');
  const files: OpenFile[] = [];
  let open: OpenFile | undefined;
  // Set while a line that looks like a change can only be one whose hunk was cut short.
  let strict = false;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!;
    refuseOtherFormats(line, at + 1);
    const header = parseFileHeader(lines, at);
    if (header) {
      open = { header, hunks: [], line: at + 1 };
      if (files.push(open) > MOST_FILES)
        throw patchSyntaxError(
          'patch.malformed',
          at + 1,
          `it changes more than ${MOST_FILES} files; split it`,
        );
      strict = !header.complete;
      at = header.next;
    } else if (startsHunk(line)) {
      if (!open) {
        open = { header: ANONYMOUS, hunks: [], line: at + 1 };
        files.push(open);
      }
      const parsed = parseHunk(lines, at, ended);
      open.hunks.push(checkedHunk(parsed.hunk));
      strict = !parsed.counted;
      at = parsed.next;
    } else {
      if (/^(?:```|~~~|diff |Index: |Only in )/.test(line) || isSignature(lines, at)) strict = false;
      if (strict && /^[+-]/.test(line))
        throw patchSyntaxError('patch.malformed', at + 1, strayChange(at + 1));
      if (!ended && at === lines.length - 1 && files.length > 0) refuseCutHeader(line, at + 1);
      at++;
    }
  }
  if (files.length === 0)
    throw patchSyntaxError('patch.malformed', 1, 'it has no "@@" hunk and no file header');
  return files.map(closeFile);
}

interface OpenFile {
  readonly header: FileHeader;
  readonly hunks: Hunk[];
  readonly line: number;
}

const ANONYMOUS: FileHeader = {
  change: 'modify',
  pathBefore: null,
  pathAfter: null,
  complete: false,
  next: 0,
};

/** Lines without their "\n". When every header line ends in CRLF the text was converted as a whole: undo it. */
function splitPatch(text: string): string[] {
  const lines = text.replace(/^(?:\uFEFF|\u00EF\u00BB\u00BF)/, '').split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  const headers = lines.filter((line) => /^(?:@@|--- |\+\+\+ |diff --git )/.test(line));
  const converted = headers.length > 0 && headers.every((line) => line.endsWith('\r'));
  return converted ? lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line)) : lines;
}

function refuseOtherFormats(line: string, number: number): void {
  if (/^diff --(?:cc|combined) |^@@@+ -/.test(line)) {
    const fact = `line ${number} begins a combined diff of a merge; send a diff against one parent`;
    throw patchSyntaxError('patch.combined', number, fact);
  }
  if (/^\*{15}|^\*\*\* (?:Begin Patch|(?:Update|Add|Delete) File: )/.test(line)) {
    const fact = `line ${number} is of another format; send a unified diff ("--- a/x", "+++ b/x", "@@"), or "*** Begin Patch" as the first line`;
    throw patchSyntaxError('patch.malformed', number, fact);
  }
  if (/^GIT binary patch|^(?:Binary files|Files) .+ and .+ differ\r?$/.test(line)) {
    throw patchSyntaxError(
      'patch.binary',
      number,
      `line ${number} is about binary content, which no hunk can say`,
    );
  }
}

const HEADER_STARTS = [
  'diff --git ',
  'Index: ',
  'index ',
  'similarity index ',
  'rename from ',
  'copy from ',
  '--- ',
  '@@ -',
];

/** The last line of a text without a newline at its end: the beginning of one more file or hunk is no prose. */
function refuseCutHeader(line: string, number: number): void {
  if (line === '' || !HEADER_STARTS.some((start) => start.startsWith(line))) return;
  const fact = `it is cut off at line ${number}, in the header of what comes next; send it whole`;
  throw patchSyntaxError('patch.malformed', number, fact);
}

function checkedHunk(hunk: Hunk): Hunk {
  if (hunk.lines.some((line) => line.op !== ' ')) return hunk;
  const fact = `the hunk at line ${hunk.patchLine} adds and removes nothing`;
  throw patchSyntaxError('patch.malformed', hunk.patchLine, fact);
}

function closeFile({ header, hunks, line }: OpenFile): FilePatch {
  const { complete, cut, next: _, ...file } = header;
  if (cut !== undefined && (hunks.length === 0 || cut.always)) {
    const fact = `the file header at line ${line} is cut off: ${cut.why}`;
    throw patchSyntaxError('patch.malformed', line, fact);
  }
  if (hunks.length > 0 || complete) return { ...file, hunks };
  throw patchSyntaxError('patch.malformed', line, `the file header at line ${line} has no hunk below it`);
}

function strayChange(number: number): string {
  return `line ${number} looks like a change but is in no hunk; begin a hunk with "@@" and each of its lines with " ", "+" or "-"`;
}

interface ParsedHunk {
  readonly hunk: Hunk;
  /** Index of the first line after the hunk. */
  readonly next: number;
  /** True when the header's counts bound the body; else it ends where lines stop looking like one. */
  readonly counted: boolean;
}

/** `ended` is false when the patch text stops without a newline: its last line may be a part of one. */
function parseHunk(lines: readonly string[], at: number, ended: boolean): ParsedHunk {
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

function startsHunk(line: string): boolean {
  return /^@@(?:\s|$)/.test(line);
}

/** The signature that ends a mailed patch: "-- " and the version of git. */
function isSignature(lines: readonly string[], at: number): boolean {
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
