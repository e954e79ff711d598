// Owns: how many edits lie between two words: insertions, deletions, changes, and swaps of neighbours.
// Refuses: to count beyond the limit that its caller gives.

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
