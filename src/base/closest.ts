// Owns: "did you mean": the candidate nearest to a mistyped word.
// Refuses: far-fetched guesses, and unbounded work on long words or long lists.
import { editDistance } from './edit-distance.ts';

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
