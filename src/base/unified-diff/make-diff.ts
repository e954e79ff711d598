// Owns the writing of unified diffs that git apply and apply-patch.ts turn back into the exact text.
// Refuses to be minimal at any price: big or wholly different inputs get a plain replacement.
import { quotePath } from './quote-path.ts';
import { byteOrderMark, type TextLines, textLines, wholeLine } from './text-lines.ts';

interface DiffOptions {
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

/** Lines [fromBefore, toBefore) of one text became lines [fromAfter, toAfter) of the other. */
export interface Change {
  readonly fromBefore: number;
  readonly toBefore: number;
  readonly fromAfter: number;
  readonly toAfter: number;
}

/** Ascending and apart. Beyond `maxBytes` of changed text, one change spans first to last difference. */
async function lineChanges(before: TextLines, after: TextLines, maxBytes: number): Promise<Change[]> {
  const middle = trimmed(before, after);
  if (isEmpty(middle)) return [];
  if (isOneSided(middle) || weight(before, after, middle) > maxBytes) return [middle];
  const { diffArrays } = await import('diff');
  const [old, fresh] = numbered(before, after);
  const budget = { steps: MOST_STEPS, until: Date.now() + MOST_MILLISECONDS };

  const direct = (part: Change): Change[] | undefined => {
    if (isEmpty(part)) return [];
    if (isOneSided(part)) return [part];
    const maxEditLength = Math.min(MOST_EDITS, Math.floor(Math.sqrt(budget.steps)));
    const timeout = budget.until - Date.now();
    if (maxEditLength < 1 || timeout < 1) return undefined;
    const result = diffArrays(
      old.slice(part.fromBefore, part.toBefore),
      fresh.slice(part.fromAfter, part.toAfter),
      { maxEditLength, timeout },
    );
    const edits = result?.reduce((sum, run) => sum + (run.added || run.removed ? run.count : 0), 0);
    budget.steps -= (edits ?? maxEditLength) ** 2;
    return result && toChanges(part, result);
  };
  const found = direct(middle);
  if (found) return found;
  return splitAtAnchors(old, fresh, middle).flatMap((part) => direct(part) ?? [part]);
}

/** A search for D edits takes about D² steps; 500 edits take 35 ms, and all searches together 350 ms. */
const MOST_EDITS = 500;
const MOST_STEPS = 10 * MOST_EDITS ** 2;
const MOST_MILLISECONDS = 2000;

function isEmpty(part: Change): boolean {
  return part.fromBefore === part.toBefore && part.fromAfter === part.toAfter;
}

function isOneSided(part: Change): boolean {
  return part.fromBefore === part.toBefore || part.fromAfter === part.toAfter;
}

function weight(before: TextLines, after: TextLines, part: Change): number {
  const size = (lines: TextLines, from: number, to: number) => lines.starts[to]! - lines.starts[from]!;
  return size(before, part.fromBefore, part.toBefore) + size(after, part.fromAfter, part.toAfter);
}

/** What is left between the first and the last line that differ. */
function trimmed(before: TextLines, after: TextLines): Change {
  const shorter = Math.min(before.count, after.count);
  let head = 0;
  while (head < shorter && wholeLine(before, head) === wholeLine(after, head)) head++;
  let [toBefore, toAfter] = [before.count, after.count];
  while (
    toBefore > head &&
    toAfter > head &&
    wholeLine(before, toBefore - 1) === wholeLine(after, toAfter - 1)
  ) {
    toBefore--;
    toAfter--;
  }
  return { fromBefore: head, toBefore, fromAfter: head, toAfter };
}

/** Both texts as numbers, equal lines (terminators included) as equal numbers. */
function numbered(...texts: [TextLines, TextLines]): [number[], number[]] {
  const numbers = new Map<string, number>();
  const number = (line: string) => {
    const known = numbers.get(line) ?? numbers.size;
    numbers.set(line, known);
    return known;
  };
  const [old, fresh] = texts.map((text) =>
    Array.from({ length: text.count }, (_, i) => number(wholeLine(text, i))),
  );
  return [old!, fresh!];
}

interface Run {
  readonly count: number;
  readonly added?: boolean;
  readonly removed?: boolean;
}

function toChanges(part: Change, runs: readonly Run[]): Change[] {
  const changes: Change[] = [];
  let { fromBefore, fromAfter } = part;
  let [toBefore, toAfter] = [fromBefore, fromAfter];
  const close = () => {
    const change = { fromBefore, toBefore, fromAfter, toAfter };
    if (!isEmpty(change)) changes.push(change);
  };
  for (const run of runs) {
    if (run.removed) toBefore += run.count;
    else if (run.added) toAfter += run.count;
    else {
      close();
      [fromBefore, fromAfter] = [toBefore + run.count, toAfter + run.count];
      [toBefore, toAfter] = [fromBefore, fromAfter];
    }
  }
  close();
  return changes;
}

/** The parts between lines that occur once in each text and in the same order (Cohen's patience). */
function splitAtAnchors(old: number[], fresh: number[], part: Change): Change[] {
  const inOld = onlyPlaces(old, part.fromBefore, part.toBefore);
  const inFresh = onlyPlaces(fresh, part.fromAfter, part.toAfter);
  const pairs: { before: number; after: number }[] = [];
  for (const [line, before] of inOld) {
    const after = inFresh.get(line);
    if (before >= 0 && after !== undefined && after >= 0) pairs.push({ before, after });
  }
  const parts: Change[] = [];
  let { fromBefore, fromAfter } = part;
  for (const { before, after } of longestAscending(pairs)) {
    parts.push({ fromBefore, toBefore: before, fromAfter, toAfter: after });
    [fromBefore, fromAfter] = [before + 1, after + 1];
  }
  parts.push({ fromBefore, toBefore: part.toBefore, fromAfter, toAfter: part.toAfter });
  return parts;
}

/** Where each line occurs, in the order of first sight; -1 for one that occurs twice. */
function onlyPlaces(lines: number[], from: number, to: number): Map<number, number> {
  const places = new Map<number, number>();
  for (let at = from; at < to; at++) places.set(lines[at]!, places.has(lines[at]!) ? -1 : at);
  return places;
}

/** The longest subsequence with ascending `after`; pairs come ascending in `before`. */
function longestAscending<Pair extends { before: number; after: number }>(pairs: readonly Pair[]): Pair[] {
  const tails: number[] = [];
  const previous: number[] = [];
  for (const [i, pair] of pairs.entries()) {
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tails[middle]!]!.after < pair.after) low = middle + 1;
      else high = middle;
    }
    previous[i] = low > 0 ? tails[low - 1]! : -1;
    tails[low] = i;
  }
  const chosen: Pair[] = [];
  for (let i = tails.at(-1) ?? -1; i >= 0; i = previous[i]!) chosen.push(pairs[i]!);
  return chosen.reverse();
}
