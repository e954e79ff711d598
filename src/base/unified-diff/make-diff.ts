// Owns the writing of unified diffs that git apply and apply-patch.ts turn back into the exact text.
// Refuses to be minimal at any price: big or wholly different inputs get a plain replacement.
import { type Change, lineChanges } from './line-changes.ts';
import { quotePath } from './quote-path.ts';
import { byteOrderMark, type TextLines, textLines, wholeLine } from './text-lines.ts';

export interface DiffOptions {
  /** Lines kept around each change. */
  readonly context?: number;
  /** Over this much differing text, counted in characters of both sides, lines are not matched up. */
  readonly maxBytes?: number;
}

/**
 * A null path stands for an absent file; two null paths give hunks without a file header. Equal texts
 * under one path give "". Created and deleted files are written with git's mode 100644.
 */
export async function makeUnifiedDiff(
  pathBefore: string | null,
  pathAfter: string | null,
  before: string,
  after: string,
  { context = 3, maxBytes = 16 * 1024 * 1024 }: DiffOptions = {},
): Promise<string> {
  const [old, fresh] = [textLines(before), textLines(after)];
  const changes = await lineChanges(old, fresh, maxBytes);
  // Without a kept line nothing would show how lines end here, or that a mark precedes the first one.
  const telling = /\r/.test(before) || /\r/.test(after) || byteOrderMark(before) !== '';
  const groups = groupChanges(changes, Math.max(context, telling ? 1 : 0));
  const hunks = groups.map((group) => writeHunk(old, fresh, group, Math.max(context, telling ? 1 : 0)));
  return fileHeader(pathBefore, pathAfter, hunks.length > 0) + hunks.join('');
}

function fileHeader(before: string | null, after: string | null, hasHunks: boolean): string {
  const known = before ?? after;
  if (known === null || (before === after && !hasHunks)) return '';
  const lines = [`diff --git ${quotePath(`a/${before ?? known}`)} ${quotePath(`b/${after ?? known}`)}`];
  if (before === null) lines.push('new file mode 100644');
  else if (after === null) lines.push('deleted file mode 100644');
  else if (before !== after) lines.push(`rename from ${quotePath(before)}`, `rename to ${quotePath(after)}`);
  // Without it a reader cannot tell an empty file from a diff that was cut off.
  if (!hasHunks && before === null) lines.push('index 0000000..e69de29');
  if (!hasHunks && after === null) lines.push('index e69de29..0000000');
  if (hasHunks) lines.push(`--- ${headerPath('a/', before)}`, `+++ ${headerPath('b/', after)}`);
  return `${lines.join('\n')}\n`;
}

/** The tab that git adds behind a name with spaces keeps other readers from taking them for a date. */
function headerPath(prefix: string, path: string | null): string {
  if (path === null) return '/dev/null';
  return quotePath(prefix + path) + (path.includes(' ') ? '\t' : '');
}

/** Changes whose contexts touch or overlap share a hunk. */
function groupChanges(changes: readonly Change[], context: number): Change[][] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const group = groups.at(-1);
    if (group && change.fromBefore - group.at(-1)!.toBefore <= 2 * context) group.push(change);
    else groups.push([change]);
  }
  return groups;
}

function writeHunk(old: TextLines, fresh: TextLines, group: readonly Change[], context: number): string {
  const [first, last] = [group[0]!, group.at(-1)!];
  const lead = Math.min(context, first.fromBefore);
  const trail = Math.min(context, old.count - last.toBefore);
  const [oldFrom, oldTo] = [first.fromBefore - lead, last.toBefore + trail];
  const [newFrom, newTo] = [first.fromAfter - lead, last.toAfter + trail];
  const pieces = [`@@ -${range(oldFrom, oldTo)} +${range(newFrom, newTo)} @@\n`];
  const write = (op: string, lines: TextLines, from: number, to: number) => {
    for (let i = from; i < to; i++) {
      const whole = wholeLine(lines, i);
      pieces.push(op, whole, whole.endsWith('\n') ? '' : '\n\\ No newline at end of file\n');
    }
  };
  let kept = oldFrom;
  for (const change of group) {
    write(' ', old, kept, change.fromBefore);
    write('-', old, change.fromBefore, change.toBefore);
    write('+', fresh, change.fromAfter, change.toAfter);
    kept = change.toBefore;
  }
  write(' ', old, kept, oldTo);
  return pieces.join('');
}

/** "start,count" as diff writes it: a count of 1 is left out, one of 0 names the line before. */
function range(from: number, to: number): string {
  const count = to - from;
  if (count === 1) return `${from + 1}`;
  return `${count === 0 ? from : from + 1},${count}`;
}
