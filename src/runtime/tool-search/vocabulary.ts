// Owns: all words that there are, in order, and which of them a typed word may mean: itself, a beginning, a slip.
// Refuses: guesses where a word is there as it was typed.
import { editDistance } from '../../base/closest.ts';

export interface Vocabulary {
  /** Words that `typed` may mean, each with how likely that is: 1 for the word itself. */
  meanings(typed: string): readonly (readonly [word: string, likeness: number])[];
}

const LEAST_PREFIX = 3;
const MOST_PREFIXES = 40;
const MOST_SLIPS = 8;
const BEGINNING = 0.6;
const SLIP = 0.5;

export function createVocabulary(words: Iterable<string>): Vocabulary {
  const sorted = [...words].sort();
  const letters = Int32Array.from(sorted, lettersOf);

  const beginnings = (typed: string): [string, number][] => {
    const found: [string, number][] = [];
    for (let at = firstFrom(sorted, typed); at < sorted.length && found.length < MOST_PREFIXES; at++) {
      const word = sorted[at]!;
      if (!word.startsWith(typed)) break;
      if (word.length > typed.length) found.push([word, BEGINNING * (typed.length / word.length)]);
    }
    return found;
  };

  const slips = (typed: string): [string, number][] => {
    const most = typed.length >= 8 ? 2 : 1;
    const mask = lettersOf(typed);
    const found: [string, number][] = [];
    for (let at = 0; at < sorted.length; at++) {
      // Each edit changes at most two letters of the set, which most words do not come near to.
      if (bitsIn(letters[at]! ^ mask) > 2 * most) continue;
      const word = sorted[at]!;
      if (Math.abs(word.length - typed.length) > most) continue;
      const edits = editDistance(typed, word, most);
      if (edits <= most) found.push([word, SLIP / edits]);
    }
    return found.sort(([, a], [, b]) => b - a).slice(0, MOST_SLIPS);
  };

  return {
    meanings(typed) {
      const at = firstFrom(sorted, typed);
      const exact: [string, number][] = sorted[at] === typed ? [[typed, 1]] : [];
      const longer = typed.length >= LEAST_PREFIX ? beginnings(typed) : [];
      if (exact.length + longer.length > 0 || typed.length < 4) return [...exact, ...longer];
      return slips(typed);
    },
  };
}

/** Where `typed` is, or would be. */
function firstFrom(sorted: readonly string[], typed: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < typed) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Which letters a word has, folded into 32 bits. */
function lettersOf(word: string): number {
  let mask = 0;
  for (let at = 0; at < word.length; at++) mask |= 1 << (word.charCodeAt(at) & 31);
  return mask;
}

function bitsIn(mask: number): number {
  let bits = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) bits++;
  return bits;
}
