// Owns the shape of a parsed patch, of either format, and the words for why one is refused.
// Refuses to read or apply anything: parse-patch.ts, parse-begin-patch.ts and apply-patch.ts do.
import type { ActualLines } from './text-lines.ts';

/** One line of a hunk: kept (' '), removed ('-') or added ('+'). */
export interface HunkLine {
  readonly op: ' ' | '-' | '+';
  /** Without its "\n"; a "\r" before it is kept unless the whole patch text was CRLF. */
  readonly text: string;
  /** False when "\ No newline at end of file" follows the line. */
  readonly terminated: boolean;
}

export interface Hunk {
  /** The first old line as the header states it, 1-based; undefined for a bare "@@". */
  readonly oldStart: number | undefined;
  /** The old count as the header states it, right or wrong: 0 makes `oldStart` the line before. */
  readonly oldCount: number | undefined;
  readonly newStart: number | undefined;
  /** What follows the second "@@". */
  readonly heading: string;
  readonly lines: readonly HunkLine[];
  /** 1-based line of the hunk's header in the patch text. */
  readonly patchLine: number;
  /** Lines of the file, white space around them aside, that stand in this order above its place, or where it begins. */
  readonly anchors?: readonly string[];
  /** Its last old line is the last of the file. */
  readonly atEnd?: true;
}

export interface FilePatch {
  /** Both paths are null, and the change is "modify", for a patch of hunks without a file header. */
  readonly change: 'modify' | 'create' | 'delete' | 'rename' | 'copy';
  readonly pathBefore: string | null;
  readonly pathAfter: string | null;
  /** Octal file modes as git writes them ("100755"), where the patch names them. */
  readonly modeBefore?: string;
  readonly modeAfter?: string;
  /** Of the content before and after, as git abbreviates them (7 digits or more); both or none. */
  readonly hashBefore?: string;
  readonly hashAfter?: string;
  readonly hunks: readonly Hunk[];
  /** The format cannot say whether a last line has a newline, and deletes files unseen: what the file has stays so. */
  readonly unmarked?: true;
}

export type PatchSyntaxReason = 'patch.empty' | 'patch.malformed' | 'patch.combined' | 'patch.binary';

type PatchRefusalReason =
  | 'patch.stale'
  | 'patch.ambiguous'
  | 'patch.overlap'
  | 'patch.exists'
  | 'patch.malformed';

export interface PatchedText {
  readonly ok: true;
  readonly text: string;
  readonly hunksApplied: number;
  /** Where each hunk begins in the original; for one that only adds, the line it adds before. All 1-based. */
  readonly placed: readonly PlacedHunk[];
}

export interface PlacedHunk {
  readonly hunk: number;
  readonly line: number;
  /** How many lines below the stated one; 0 for a hunk that states none. */
  readonly offset: number;
}

export interface PatchRefusal {
  readonly ok: false;
  readonly reason: PatchRefusalReason;
  /** 1-based; 0 when the file as a whole is the reason. */
  readonly hunk: number;
  /** The first line of the file, 1-based, that is not as the hunk says. */
  readonly line?: number;
  readonly message: string;
  readonly expected?: string;
  /** Absent where the file has no such line. */
  readonly found?: string;
  /** What the file has where it is most like the hunk. */
  readonly actual?: ActualLines;
  /** The lines, 1-based, at which the hunk would match. */
  readonly candidates?: readonly number[];
  /** Set when the hunk's new lines are already there. */
  readonly alreadyApplied?: true;
}

/** Thrown by parsePatch. `line` is the 1-based line of the patch text. */
export interface PatchSyntaxError extends Error {
  readonly reason: PatchSyntaxReason;
  readonly line: number;
}

export function patchSyntaxError(reason: PatchSyntaxReason, line: number, fact: string): PatchSyntaxError {
  const error = new Error(`Cannot read the patch: ${fact}`);
  return Object.assign(error, { name: 'PatchSyntaxError', reason, line });
}

/** Tells parsePatch's own errors from a programmer's mistake, by shape: bundles do not share classes. */
export function isPatchSyntaxError(error: unknown): error is PatchSyntaxError {
  return error instanceof Error && error.name === 'PatchSyntaxError' && 'reason' in error && 'line' in error;
}
