// Owns: ranking tools by the words that they share with a query (BM25 over weighted fields), with an index that is kept.
// Refuses: chance and clocks: equal queries over equal tools rank equally, whatever was added or removed before.
import { editDistance } from '../../base/closest.ts';
import { isRecord } from '../../base/is-record.ts';
import type { ToolContract } from '../../contract/tool.ts';
import type { RankedTool, ToolRanker } from '../../contract/tool-search.ts';

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

/** What is read of a tool, how much a word there counts, and how many words are usual there. */
const FIELDS: readonly {
  readonly weight: number;
  /** Fixed, not averaged: the order of two tools must not depend on which others were added before. */
  readonly usual: number;
  texts(tool: ToolContract, input: SchemaTexts, output: SchemaTexts): readonly string[];
}[] = [
  { weight: 4, usual: 3, texts: ({ id }) => [id] },
  { weight: 3, usual: 5, texts: ({ title }) => [title] },
  { weight: 3, usual: 3, texts: ({ tags }) => tags },
  { weight: 1.5, usual: 25, texts: ({ description }) => [description] },
  { weight: 1.2, usual: 6, texts: (_, { names }) => names },
  { weight: 0.6, usual: 40, texts: (_, { descriptions }) => descriptions },
  { weight: 0.4, usual: 40, texts: (_, __, { names, descriptions }) => [...names, ...descriptions] },
];

/** How much a long field takes away from each of its words: 0 nothing, 1 in full proportion. */
const LENGTH_MATTERS = 0.6;

/** Word → how much it counts for this tool. */
function toolWords(tool: ToolContract, read: WordReader): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const input = textsIn(tool.input);
  const output = textsIn(tool.output);
  for (const { weight, usual, texts } of FIELDS) {
    const words = texts(tool, input, output).flatMap(read);
    const each = weight / (1 - LENGTH_MATTERS + LENGTH_MATTERS * (words.length / usual));
    for (const word of words) found.set(word, (found.get(word) ?? 0) + Math.min(each, weight));
  }
  return found;
}

interface SchemaTexts {
  readonly names: string[];
  readonly descriptions: string[];
}

const DEEPEST = 6;
const MOST_TEXTS = 500;
/** Keywords that hold schemas: one, a list of them, or some by name. */
const NESTED = ['items', 'additionalProperties', 'not', 'if', 'then', 'else'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions'];

function textsIn(schema: unknown): SchemaTexts {
  const texts: SchemaTexts = { names: [], descriptions: [] };
  collect(schema, 0, texts);
  return texts;
}

function collect(schema: unknown, depth: number, into: SchemaTexts): void {
  if (!isRecord(schema) || depth > DEEPEST) return;
  const { names, descriptions } = into;
  if (names.length + descriptions.length > MOST_TEXTS) return;
  const { title, description, enum: among, properties } = schema;
  if (typeof title === 'string') descriptions.push(title);
  if (typeof description === 'string') descriptions.push(description);
  if (Array.isArray(among)) descriptions.push(...among.filter((one) => typeof one === 'string'));
  if (isRecord(properties)) names.push(...Object.keys(properties));
  for (const key of NESTED) if (key in schema) collect(schema[key], depth + 1, into);
  for (const key of LISTS) {
    const list = schema[key];
    if (Array.isArray(list)) for (const one of list) collect(one, depth + 1, into);
  }
  for (const key of MAPS) {
    const map = schema[key];
    if (isRecord(map)) for (const one of Object.values(map)) collect(one, depth + 1, into);
  }
}

/** Lower case, without accents and endings; `createPullRequest` and `create_pull_request` give the same words. */
type WordReader = (text: string) => string[];

/** Remembers the forms of words that it met: tools of one pack share most of theirs. */
export function createWordReader(): WordReader {
  const forms = new Map<string, string>();
  return (text) => {
    const whole = text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT) : text;
    const ascii = ASCII.test(whole);
    const found = (ascii ? whole : withoutAccents(whole)).match(ascii ? ASCII_PARTS : PARTS) ?? [];
    const words: string[] = [];
    for (const part of found) {
      let form = forms.get(part);
      if (form === undefined) {
        form = formOf(part.toLowerCase());
        if (forms.size >= MOST_FORMS) forms.clear();
        forms.set(part, form);
      }
      if (form !== '') words.push(form);
    }
    return words;
  };
}

const LONGEST_TEXT = 8_192;
const LONGEST_WORD = 40;
const MOST_FORMS = 50_000;

/** `parseHTTPUrl2` is parse, HTTP, Url, 2. Letters without case stay together. */
const ASCII_PARTS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const PARTS = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+|[\p{Lt}\p{Lm}\p{Lo}]+/gu;
const ASCII = /^[\0-\x7f]*$/;

const withoutAccents = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize();

const formOf = (word: string): string => (EMPTY_WORDS.has(word) ? '' : stem(word.slice(0, LONGEST_WORD)));

const EMPTY_WORDS = new Set(
  'a an and are as at be by can do does for from get how i if in into is it its me my of on or please that the their this to use using want what when where which will with you your'.split(
    ' ',
  ),
);

/** Rough, and the same for both sides: that is all that finding needs. */
export function stem(word: string): string {
  if (word.length <= 3) return word;
  const single = withoutPlural(word);
  const ending = /(ing|ed)$/.exec(single);
  let root = single;
  if (ending && single.length - ending[0].length >= 4) {
    root = single.slice(0, ending.index);
    if (/([bdgmnprt])\1$/.test(root)) root = root.slice(0, -1);
  }
  return root.length >= 5 && root.endsWith('e') ? root.slice(0, -1) : root;
}

function withoutPlural(word: string): string {
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  return /[^suix]s$/.test(word) ? word.slice(0, -1) : word;
}
