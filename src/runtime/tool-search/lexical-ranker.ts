// Owns: ranking tools by the words that they share with a query (BM25 over weighted fields), with an index that is kept.
// Refuses: chance and clocks: equal queries over equal tools rank equally, whatever was added or removed before.

import { editDistance } from '../../base/closest.ts';
import type { ToolContract } from '../../contract/tool.ts';
import type { RankedTool, ToolRanker } from '../../contract/tool-search.ts';
import { createWordReader, toolWords, type WordReader } from './tool-words.ts';

/** Which tools have a word, and how much it counts there; slots of removed tools stay until the index is made anew. */
interface Posting {
  readonly slots: number[];
  readonly weights: number[];
  live: number;
}

/** How soon more of the same word stops to count. */
const SATURATION = 2.5;
const MOST_WORDS = 24;

export function createLexicalRanker(): ToolRanker {
  const read = createWordReader();
  let index = emptyIndex(read);
  return {
    name: 'lexical',
    sync(tools) {
      const wanted = new Map(tools.map((tool) => [tool.id, tool]));
      for (const [id, slot] of index.slotOf) {
        if (wanted.get(id) !== index.tools[slot]) index.remove(id);
      }
      if (index.removed > 64 && index.removed > index.slotOf.size) index = emptyIndex(read);
      for (const [id, tool] of wanted) if (!index.slotOf.has(id)) index.add(tool);
    },
    rank: (query, limit) => index.rank(query, limit),
  };
}

interface Index {
  readonly slotOf: Map<string, number>;
  /** By slot; undefined where it was removed. */
  readonly tools: (ToolContract | undefined)[];
  readonly removed: number;
  add(tool: ToolContract): void;
  remove(id: string): void;
  rank(query: string, limit: number): readonly RankedTool[];
}

function emptyIndex(read: WordReader): Index {
  const slotOf = new Map<string, number>();
  const tools: (ToolContract | undefined)[] = [];
  const postings = new Map<string, Posting>();
  let removed = 0;
  let vocabulary: Vocabulary | undefined;

  return {
    slotOf,
    tools,
    get removed() {
      return removed;
    },
    add(tool) {
      const slot = tools.push(tool) - 1;
      slotOf.set(tool.id, slot);
      for (const [word, weight] of toolWords(tool, read)) {
        let posting = postings.get(word);
        if (!posting) {
          posting = { slots: [], weights: [], live: 0 };
          postings.set(word, posting);
          vocabulary = undefined;
        }
        posting.slots.push(slot);
        posting.weights.push(weight);
        posting.live++;
      }
    },
    remove(id) {
      const slot = slotOf.get(id)!;
      for (const word of toolWords(tools[slot]!, read).keys()) {
        if (--postings.get(word)!.live > 0) continue;
        postings.delete(word);
        vocabulary = undefined;
      }
      slotOf.delete(id);
      tools[slot] = undefined;
      removed++;
    },
    rank(query, limit) {
      vocabulary ??= createVocabulary(postings.keys());
      const typed = [...new Set(read(query))].slice(0, MOST_WORDS);
      const total = new Float64Array(tools.length);
      const hits = new Uint8Array(tools.length);
      const best = new Float64Array(tools.length);
      for (const word of typed) {
        const touched: number[] = [];
        const meanings = vocabulary.meanings(word);
        for (const [meant, likeness] of meanings) {
          const { slots, weights, live }: Posting = postings.get(meant)!;
          const worth = likeness * Math.log(1 + (slotOf.size - live + 0.5) / (live + 0.5));
          for (let at = 0; at < slots.length; at++) {
            const slot = slots[at]!;
            const weight = weights[at]!;
            const score = (worth * weight) / (weight + SATURATION);
            // Of all that one typed word may mean, what fits best counts, once.
            if (best[slot] === 0) touched.push(slot);
            if (score > best[slot]!) best[slot] = score;
          }
        }
        for (const slot of touched) {
          total[slot]! += best[slot]!;
          hits[slot]!++;
          best[slot] = 0;
        }
      }
      const exact = slotOf.get(query.trim().toLowerCase());
      if (exact !== undefined) {
        hits[exact] = typed.length;
        total[exact]! += EXACT;
      }
      return top(tools, total, (slot) => (total[slot]! * hits[slot]!) / Math.max(1, typed.length), limit);
    },
  };
}

/** Whoever types an id whole means it. */
const EXACT = 1000;

/** The best of all slots, kept sorted while they are looked through: few are wanted of many. */
function top(
  tools: readonly (ToolContract | undefined)[],
  total: Float64Array,
  scoreOf: (slot: number) => number,
  limit: number,
): readonly RankedTool[] {
  const kept: RankedTool[] = [];
  for (let slot = 0; slot < total.length; slot++) {
    const tool = tools[slot];
    if (total[slot] === 0 || !tool) continue;
    const ranked = { id: tool.id, score: scoreOf(slot) };
    if (kept.length === limit && !isBetter(ranked, kept[limit - 1]!)) continue;
    let at = kept.length;
    while (at > 0 && isBetter(ranked, kept[at - 1]!)) at--;
    kept.splice(at, 0, ranked);
    if (kept.length > limit) kept.pop();
  }
  return kept;
}

const isBetter = (a: RankedTool, b: RankedTool): boolean =>
  a.score > b.score || (a.score === b.score && a.id < b.id);

interface Vocabulary {
  /** Words that `typed` may mean, each with how likely that is: 1 for the word itself. */
  meanings(typed: string): readonly (readonly [word: string, likeness: number])[];
}

const LEAST_PREFIX = 3;
const MOST_PREFIXES = 40;
const MOST_SLIPS = 8;
const BEGINNING = 0.6;
const SLIP = 0.5;

function createVocabulary(words: Iterable<string>): Vocabulary {
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
