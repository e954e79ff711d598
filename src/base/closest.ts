// Owns: "did you mean": the candidate nearest to a mistyped word, and how many edits lie between two words.
// Refuses: far-fetched guesses, and unbounded work on long words or long lists.

/** The nearest candidate within a third of the word's length in edits (a swap of neighbours is one); the first of equals. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length === 0 || word.length > MAX_LENGTH) return undefined;
  const sought = word.toLowerCase();
  let limit = Math.max(1, Math.floor(word.length / 3));
  let best: string | undefined;
  let tried = 0;
  for (const candidate of candidates) {
    if (++tried > MAX_CANDIDATES) break;
    if (candidate.length > MAX_LENGTH) continue;
    const distance = editDistance(sought, candidate.toLowerCase(), limit);
    if (distance > limit) continue;
    best = candidate;
    if (distance === 0) break;
    limit = distance - 1;
  }
  return best;
}

const MAX_LENGTH = 128;
const MAX_CANDIDATES = 5_000;

/** Optimal string alignment; any number over `limit` once the distance must exceed it. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let older: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const change = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(change, above[j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, older[j - 2]! + 1);
      row.push(cost);
      least = Math.min(least, cost);
    }
    // A swap reaches back two rows, and adds one: two rows over the limit stay over it.
    if (least > limit && Math.min(...above) >= limit) return limit + 1;
    older = above;
    above = row;
  }
  return above[b.length]!;
}
