// Owns the reading of the format that begins with "*** Begin Patch", as language models write it.
// Refuses any text of which a part would silently not be applied; each error names its line.
import { type FilePatch, type Hunk, type HunkLine, patchSyntaxError } from './file-patch.ts';

/** Each is looked up, locked and decided before anything changes, while everybody else waits. */
const MOST_FILES = 10_000;

/** By its first line that is not empty. */
export function isBeginPatch(text: string): boolean {
  return /^(?:\uFEFF|\u00EF\u00BB\u00BF)?\s*\*\*\* Begin Patch[ \t\r]*(?:\n|$)/.test(text);
}

/** The files of a patch text, in its order. Throws a PatchSyntaxError (see file-patch.ts). */
export function parseBeginPatch(text: string): FilePatch[] {
  const lines = splitLines(text);
  const files: FilePatch[] = [];
  let at = lines.findIndex((line) => line.trim() !== '') + 1;
  for (;;) {
    const line = lines[at];
    if (line === undefined) {
      throw malformed(lines.length, 'it is cut off: its last line is not "*** End Patch"; send it whole');
    }
    if (isEnd(line)) break;
    if (line.trim() === '') {
      at++;
      continue;
    }
    const header = fileHeader(line, at + 1);
    if (files.length === MOST_FILES)
      throw malformed(at + 1, `it changes more than ${MOST_FILES} files; split it`);
    const section =
      header.kind === 'Update' ? readUpdate(lines, at, header.path) : readWhole(lines, at, header);
    files.push(section.file);
    at = section.next;
  }
  const after = lines.findIndex((line, i) => i > at && line.trim() !== '');
  if (after >= 0) throw malformed(after + 1, `line ${after + 1} stands below "*** End Patch"`);
  if (files.length === 0) throw patchSyntaxError('patch.empty', at + 1, 'it names no file');
  return files;
}

interface Section {
  readonly file: FilePatch;
  /** Index of the first line after it. */
  readonly next: number;
}

interface SectionHeader {
  readonly kind: 'Add' | 'Delete' | 'Update';
  readonly path: string;
}

/** Lines without their "\n". When every line of the format's own ends in CRLF the text was converted as a whole: undo it. */
function splitLines(text: string): string[] {
  const lines = text.replace(/^(?:\uFEFF|\u00EF\u00BB\u00BF)/, '').split('\n');
  if (lines.at(-1) === '') lines.pop();
  const converted = lines.every((line) => !line.startsWith('***') || line.endsWith('\r') || isEnd(line));
  const own = converted && lines.some((line) => line.startsWith('***') && line.endsWith('\r'));
  return own ? lines.map((line) => line.replace(/\r$/, '')) : lines;
}

function isEnd(line: string): boolean {
  return /^\*\*\* End Patch\s*$/.test(line);
}

/** What ends the lines of a file: the next file, or the end. */
function isHeader(line: string): boolean {
  return isEnd(line) || /^\*\*\* (?:Add|Delete|Update) File:/.test(line);
}

function fileHeader(line: string, number: number): SectionHeader {
  const match = /^\*\*\* (Add|Delete|Update) File:(.*)$/.exec(line);
  if (!match) {
    const fact = `line ${number} belongs to no file; expected "*** Update File: PATH", "*** Add File: PATH", "*** Delete File: PATH" or "*** End Patch"`;
    throw malformed(number, fact);
  }
  return { kind: match[1] as SectionHeader['kind'], path: pathOf(match[2]!, number) };
}

function pathOf(text: string, number: number): string {
  const path = text.trim();
  if (path === '') throw malformed(number, `line ${number} names no path`);
  return path;
}

/** A file that is created with these lines, or deleted as it is. */
function readWhole(lines: readonly string[], start: number, { kind, path }: SectionHeader): Section {
  const added: HunkLine[] = [];
  let at = start + 1;
  for (; at < lines.length && !isHeader(lines[at]!); at++) {
    const line = lines[at]!;
    if (line.trim() === '' && isEnding(lines, at)) break;
    if (kind === 'Delete')
      throw malformed(at + 1, `line ${at + 1} stands below "*** Delete File", which takes none`);
    if (!line.startsWith('+')) {
      throw malformed(
        at + 1,
        `line ${at + 1} is of a new file and does not begin with "+", as empty ones do, too`,
      );
    }
    added.push({ op: '+', text: line.slice(1), terminated: true });
  }
  const common = { unmarked: true as const };
  if (kind === 'Delete') {
    return { file: { change: 'delete', pathBefore: path, pathAfter: null, hunks: [], ...common }, next: at };
  }
  const hunks =
    added.length === 0
      ? []
      : [hunkOf({ anchors: [], lines: added, patchLine: start + 1, empty: 0, atEnd: false })];
  return { file: { change: 'create', pathBefore: null, pathAfter: path, hunks, ...common }, next: at };
}

/** Only empty lines are left before the next file or the end; whoever reads on passes over them. */
function isEnding(lines: readonly string[], at: number): boolean {
  let next = at;
  while (next < lines.length && lines[next]!.trim() === '') next++;
  return next < lines.length && isHeader(lines[next]!);
}

interface OpenHunk {
  readonly anchors: string[];
  readonly lines: HunkLine[];
  readonly patchLine: number;
  /** Empty lines at its end so far: they part two changes, since a line that stays has a space. */
  empty: number;
  atEnd: boolean;
}

function readUpdate(lines: readonly string[], start: number, path: string): Section {
  let at = start + 1;
  const moved = /^\*\*\* Move to:(.*)$/.exec(lines[at] ?? '');
  const pathAfter = moved ? pathOf(moved[1]!, at + 1) : path;
  if (moved && pathAfter === path) throw malformed(at + 1, `line ${at + 1} moves the file to where it is`);
  if (moved) at++;
  const hunks: OpenHunk[] = [];
  for (; at < lines.length && !isHeader(lines[at]!); at++) readUpdateLine(hunks, lines[at]!, at + 1);
  if (hunks.length === 0 && !moved)
    throw malformed(start + 1, `line ${start + 1} names a file, and no change of it follows`);
  const change = moved ? 'rename' : 'modify';
  return {
    file: { change, pathBefore: path, pathAfter, hunks: hunks.map(hunkOf), unmarked: true },
    next: at,
  };
}

function readUpdateLine(hunks: OpenHunk[], line: string, number: number): void {
  const open = hunks.at(-1);
  const begin = (anchors: string[]) =>
    hunks.push({ anchors, lines: [], patchLine: number, empty: 0, atEnd: false });
  if (/^@@(?:\s|$)/.test(line)) {
    const anchor = line.slice(2).trim();
    if (/^-\d+(?:,\d+)? \+\d+/.test(anchor)) {
      const fact = `line ${number} has line numbers, which this format does not have; write "@@", or "@@ " and a line of the file above the change`;
      throw malformed(number, fact);
    }
    const named = anchor === '' ? [] : [anchor];
    if (open && open.lines.length === 0) open.anchors.push(...named);
    else begin(named);
    return;
  }
  if (/^\*\*\* End of File\s*$/.test(line)) {
    if (!open || open.lines.length === 0 || open.atEnd) {
      throw malformed(number, `line ${number} ends a file, and no lines of a change stand above it`);
    }
    open.atEnd = true;
    return;
  }
  const op = line[0] ?? ' ';
  if (op !== ' ' && op !== '+' && op !== '-') {
    const fact = `line ${number} begins with none of " ", "+" and "-"; each line of a change does, also those that stay`;
    throw malformed(number, fact);
  }
  if (open?.atEnd) {
    if (line.trim() === '') return;
    throw malformed(number, `line ${number} stands below "*** End of File"; begin the next change with "@@"`);
  }
  if (!open) {
    // Empty lines before the first change are no context.
    if (line.trim() === '') return;
    begin([]);
  }
  const hunk = hunks.at(-1)!;
  hunk.lines.push({ op, text: line.slice(1), terminated: true });
  hunk.empty = line === '' ? hunk.empty + 1 : 0;
}

function hunkOf({ anchors, lines, patchLine, empty, atEnd }: OpenHunk): Hunk {
  const kept = atEnd ? lines : lines.slice(0, lines.length - empty);
  if (!kept.some((line) => line.op !== ' ')) {
    throw malformed(patchLine, `the change at line ${patchLine} adds and removes nothing`);
  }
  return {
    oldStart: undefined,
    oldCount: undefined,
    newStart: undefined,
    heading: anchors.at(-1) ?? '',
    lines: kept,
    patchLine,
    ...(anchors.length > 0 ? { anchors } : {}),
    ...(atEnd ? { atEnd: true as const } : {}),
  };
}

function malformed(line: number, fact: string) {
  return patchSyntaxError('patch.malformed', line, fact);
}
