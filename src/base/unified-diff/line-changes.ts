// Owns which lines differ between two texts: few where that is cheap to find, correct always.
// Refuses to search for long: what is over the limits becomes one replacement.
import { type TextLines, wholeLine } from './text-lines.ts';

/** Lines [fromBefore, toBefore) of one text became lines [fromAfter, toAfter) of the other. */
export interface Change {
  readonly fromBefore: number;
  readonly toBefore: number;
  readonly fromAfter: number;
  readonly toAfter: number;
}

/** Ascending and apart. Beyond `maxBytes` of changed text, one change spans first to last difference. */
export async function lineChanges(before: TextLines, after: TextLines, maxBytes: number): Promise<Change[]> {
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
