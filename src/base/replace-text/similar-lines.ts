// Owns what a file has where it is most like a text that is not in it: the same but for white space, or the most equal lines.
// Refuses to change anything: it only explains a refusal.
import type { FilePatch } from '../unified-diff/file-patch.ts';
import { matchTarget, nearestPlace } from '../unified-diff/locate-hunk.ts';
import { type ActualLines, actualLines, type TextLines, textLines } from '../unified-diff/text-lines.ts';

interface Similar {
  readonly actual?: ActualLines;
  /** True where only white space differs. */
  readonly exact: boolean;
  /** The first lines of all such places, 1-based, while they are few. */
  readonly candidates: readonly number[];
}

const MOST_PLACES = 20;

/** A larger text is not looked through: everybody would wait for an explanation. */
const MOST_EXPLAINED = 4 * 1024 * 1024;

export function similarLines(text: string, wanted: string): Similar {
  if (text.length > MOST_EXPLAINED) return { exact: false, candidates: [] };
  const lines = textLines(text);
  const spans = spansWithoutSpace(text, wanted).map(([start, end]) => ({
    from: lineOf(lines, start),
    to: lineOf(lines, end),
  }));
  const [first] = spans;
  if (first) {
    const actual = actualLines(lines, first.from, first.to);
    return { actual, exact: true, candidates: spans.map(({ from }) => from + 1) };
  }
  const nearest = nearestLines(text, wanted);
  if (nearest === undefined) return { exact: false, candidates: [] };
  const count = textLines(wanted).count;
  const actual = actualLines(lines, nearest, Math.min(nearest + count, lines.count) - 1);
  return { actual, exact: false, candidates: [] };
}

/** The first and the last character of each place where the text is `wanted`, white space left aside. */
function spansWithoutSpace(text: string, wanted: string): [number, number][] {
  const bare = wanted.replace(/\s+/g, '');
  if (bare === '') return [];
  const all = text.replace(/\s+/g, '');
  const starts: number[] = [];
  for (let at = all.indexOf(bare); at >= 0 && starts.length < MOST_PLACES; ) {
    starts.push(at);
    at = all.indexOf(bare, at + bare.length);
  }
  const ends = starts.flatMap((start) => [start, start + bare.length - 1]);
  const found: number[] = [];
  // Walks over words, not over characters: what is squeezed out lies between them.
  let passed = 0;
  for (const { 0: word, index } of ends.length === 0 ? [] : text.matchAll(/\S+/g)) {
    while (found.length < ends.length && ends[found.length]! < passed + word.length) {
      found.push(index + ends[found.length]! - passed);
    }
    if (found.length === ends.length) break;
    passed += word.length;
  }
  return starts.map((_, i) => [found[2 * i]!, found[2 * i + 1]!]);
}

function lineOf({ starts, count }: TextLines, place: number): number {
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The 0-based place where most lines agree but for white space around them. */
function nearestLines(text: string, wanted: string): number | undefined {
  const lines = wanted.split('\n').map((line) => ({ op: '-', text: line, terminated: true }) as const);
  const hunk = {
    oldStart: undefined,
    oldCount: undefined,
    newStart: undefined,
    heading: '',
    lines,
    patchLine: 1,
  };
  const patch: FilePatch = { change: 'modify', pathBefore: null, pathAfter: null, hunks: [hunk] };
  const { lines: numbered, old } = matchTarget(text, patch).loosely();
  const ids = old(hunk);
  // A line without letters or digits stands everywhere.
  const telling = ids.map((id, i) => (/[\p{L}\p{N}]/u.test(lines[i]!.text) ? id : -1));
  return telling.some((id) => numbered.places(id).length > 0)
    ? nearestPlace(numbered, telling, undefined)
    : undefined;
}
