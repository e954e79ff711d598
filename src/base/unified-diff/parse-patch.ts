// Owns the reading of unified diffs as git, diff -u, mails and language models write them.
// Refuses combined and binary diffs, and any text of which a part would silently not be applied.
import { type FilePatch, type Hunk, patchSyntaxError } from './file-patch.ts';
import { type FileHeader, parseFileHeader } from './parse-file-header.ts';
import { isSignature, parseHunk, startsHunk } from './parse-hunk.ts';

/** The files of a patch text, in its order. Throws a PatchSyntaxError (see file-patch.ts). */
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
      files.push(open);
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
    const fact = `line ${number} is of another format; send a unified diff ("--- a/x", "+++ b/x", "@@")`;
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
