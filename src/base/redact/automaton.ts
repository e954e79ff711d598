// Owns: finding every occurrence of many literal patterns in one pass (Aho-Corasick), through a view of the text.
// Refuses: to know what the patterns mean, and time that grows with their number.

/** Half-open, in positions of the text. */
export type Span = readonly [start: number, end: number];

/**
 * How characters are read before they are compared: line breaks left out, letters folded, `%41` taken for `A`.
 * `map` has an entry for each of the first 256 codes; a negative one is left out.
 */
interface View {
  readonly map?: Int16Array;
  readonly percent?: true;
}

export interface Automaton {
  /**
   * Adds a span for every occurrence. Answers where the longest beginning of a pattern that ends the text starts:
   * what lies before it is settled whatever follows.
   */
  scan(text: string, found: Span[]): number;
}

const PERCENT = 37;

/** `patterns` are in the alphabet of the view: folded, with nothing that it leaves out. */
export function createAutomaton(patterns: Iterable<string>, view: View = {}): Automaton {
  const trie = buildTrie(patterns);
  const { map, percent = false } = view;
  const mask = ringMask(trie.maxDepth + 1);
  return {
    scan(text, found) {
      if (trie.maxDepth === 0) return text.length;
      const { first, output, depth } = trie;
      const starts = new Int32Array(mask + 1);
      let state = 0;
      let read = 0;
      for (let at = 0; at < text.length; ) {
        const start = at;
        let code = text.charCodeAt(at++);
        if (percent && code === PERCENT) {
          const byte = hexByte(text, at);
          if (byte >= 0) {
            code = byte;
            at += 2;
          }
        }
        if (map !== undefined && code < 256) {
          code = map[code]!;
          if (code < 0) continue;
        }
        starts[read & mask] = start;
        state = state === 0 && code < 256 ? first[code]! : trie.step(state, code);
        read += 1;
        const length = output[state]!;
        if (length > 0) found.push([starts[(read - length) & mask]!, at]);
      }
      return state === 0 ? text.length : starts[(read - depth[state]!) & mask]!;
    },
  };
}

interface Trie {
  /** By code, for the first 256: where a pattern can begin. */
  readonly first: Int32Array;
  /** By state: length of the longest pattern that ends here, or 0. */
  readonly output: Int32Array;
  readonly depth: Int32Array;
  readonly maxDepth: number;
  step(state: number, code: number): number;
}

function buildTrie(patterns: Iterable<string>): Trie {
  const list = [...new Set(patterns)].filter((pattern) => pattern.length > 0);
  const size = list.reduce((sum, pattern) => sum + pattern.length, 1);
  const symbol = new Uint16Array(size);
  const child = new Int32Array(size);
  const sibling = new Int32Array(size);
  const failure = new Int32Array(size);
  const depth = new Int32Array(size);
  const output = new Int32Array(size);
  const root = new Map<number, number>();
  let count = 1;

  const goTo = (state: number, code: number): number => {
    if (state === 0) return root.get(code) ?? 0;
    let next = child[state]!;
    while (next !== 0 && symbol[next] !== code) next = sibling[next]!;
    return next;
  };
  for (const pattern of list) {
    let state = 0;
    for (let at = 0; at < pattern.length; at += 1) {
      const code = pattern.charCodeAt(at);
      let next = goTo(state, code);
      if (next === 0) {
        next = count++;
        symbol[next] = code;
        depth[next] = at + 1;
        if (state === 0) root.set(code, next);
        else {
          sibling[next] = child[state]!;
          child[state] = next;
        }
      }
      state = next;
    }
    output[state] = pattern.length;
  }

  const step = (from: number, code: number): number => {
    let state = from;
    while (state !== 0) {
      const next = goTo(state, code);
      if (next !== 0) return next;
      state = failure[state]!;
    }
    return root.get(code) ?? 0;
  };
  // Breadth first: the failure link of a state needs those of all shallower ones.
  const queue = [...root.values()];
  for (let head = 0; head < queue.length; head += 1) {
    const state = queue[head]!;
    for (let next = child[state]!; next !== 0; next = sibling[next]!) {
      failure[next] = step(failure[state]!, symbol[next]!);
      output[next] = Math.max(output[next]!, output[failure[next]!]!);
      queue.push(next);
    }
  }
  const first = new Int32Array(256);
  for (const [code, state] of root) if (code < 256) first[code] = state;
  return { first, output, depth, maxDepth: list.reduce((max, { length }) => Math.max(max, length), 0), step };
}

const ringMask = (least: number): number => 2 ** Math.ceil(Math.log2(least + 1)) - 1;

/** The value of the two hex digits at `at`, or -1. */
function hexByte(text: string, at: number): number {
  const high = hexDigit(text.charCodeAt(at));
  const low = hexDigit(text.charCodeAt(at + 1));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const folded = code | 32;
  return folded >= 97 && folded <= 102 ? folded - 87 : -1;
}

export const REDACTED = '[redacted]';

/** Overlapping and touching spans become one mark. */
export function replaceSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let result = '';
  let kept = 0;
  for (const [start, end] of mergeSpans(spans)) {
    result += text.slice(kept, start) + REDACTED;
    kept = end;
  }
  return result + text.slice(kept);
}

/** In order, none touching another. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: [number, number][] = [];
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}
