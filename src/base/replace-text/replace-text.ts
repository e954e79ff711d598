// Owns exact replacement in a text: every edit counted in the text as it is, all of them made or none.
// Refuses fuzz: a text that stands there with other white space is shown, never replaced.
import { type ActualLines, byteOrderMark } from '../unified-diff/text-lines.ts';
import { similarLines } from './similar-lines.ts';

export interface TextEdit {
  readonly old: string;
  readonly new: string;
  /** How often `old` must be in the text. */
  readonly count: number;
}

/** What ends the lines of a text: one thing, several, or nothing, since it is one line. */
export type LineEnds = 'lf' | 'crlf' | 'mixed' | 'none';

export interface ReplacedText {
  readonly ok: true;
  readonly text: string;
  /** The 1-based line of the original where each replaced place begins, ascending. */
  readonly lines: readonly number[];
  /** Set when `old` or `new` had other line ends than the text: theirs were taken as those of the text. */
  readonly adapted?: 'lf' | 'crlf';
}

export interface ReplaceRefusal {
  readonly ok: false;
  readonly reason: 'patch.stale' | 'patch.ambiguous' | 'patch.overlap' | 'patch.empty' | 'input.encoding';
  /** The number of the edit, from 1. */
  readonly edit: number;
  /** What is wrong with it, as the end of a sentence. */
  readonly fact: string;
  /** The lines, 1-based, at which `old` stands; at most MOST_PLACES. */
  readonly candidates?: readonly number[];
  /** How often it stands there. */
  readonly found?: number;
  /** What the text has where it is most like `old`. */
  readonly actual?: ActualLines;
}

export const MOST_PLACES = 20;

/** All edits are counted in `original`, so that their order does not matter; none may touch what another replaces. */
export function replaceText(original: string, edits: readonly TextEdit[]): ReplacedText | ReplaceRefusal {
  const ends = lineEndsOf(original);
  const places: Place[] = [];
  let adapted = false;
  for (const [index, edit] of edits.entries()) {
    const [old, fresh] = [withEnds(edit.old, ends), withEnds(edit.new, ends)];
    adapted ||= old !== edit.old || fresh !== edit.new;
    const refused = (reason: ReplaceRefusal['reason'], fact: string, facts: Partial<ReplaceRefusal> = {}) =>
      ({ ok: false, reason, edit: index + 1, fact, ...facts }) as const;
    if (old === '') return refused('patch.empty', 'old is empty; to fill or create a file use file_write');
    if (old === fresh)
      return refused('patch.empty', 'old and new are the same text, so nothing would change');
    if (!old.isWellFormed() || !fresh.isWellFormed()) {
      return refused('input.encoding', 'its text has half of a surrogate pair');
    }
    const found = placesOf(original, old, edit.count);
    if (found.starts.length === 0) return notFound(original, old, fresh, ends, refused);
    if (found.unclear !== undefined || found.starts.length !== edit.count) {
      return miscounted(original, found, edit.count, refused);
    }
    const joining = found.starts.find((start) => joinsLines(original, start, old, fresh));
    if (joining !== undefined) {
      const [line] = linesAt(original, [joining]);
      const fact = `old begins with a line end, which in the file is that of line ${line}: two lines would become one; begin old with that line`;
      return refused('patch.ambiguous', fact, { candidates: [line!] });
    }
    const made = found.starts.slice(0, MOST_LOOKED_AT).find((start) => isMade(original, start, old, fresh));
    if (made !== undefined) {
      const [line] = linesAt(original, [made]);
      const fact = `old is at line ${line} with the lines of new around it: the change was made already; to make it again, add more of the text around it`;
      return refused('patch.stale', fact, { candidates: [line!] });
    }
    // The mark stays where it is: one that comes with the new text would stand twice.
    if (byteOrderMark(fresh) !== '' && byteOrderMark(old) === '') {
      return refused('input.encoding', 'new begins with a byte order mark, and old does not');
    }
    for (const start of found.starts) places.push({ start, end: start + old.length, fresh, edit: index + 1 });
  }
  places.sort((a, b) => a.start - b.start);
  const touching = places.findIndex((place, i) => i > 0 && place.start < places[i - 1]!.end);
  if (touching >= 0) {
    const [one, other] = [places[touching - 1]!, places[touching]!];
    const [line] = linesAt(original, [other.start]);
    const fact = `it replaces text that edit ${one.edit} replaces as well, at line ${line}; make one edit of the two`;
    return { ok: false, reason: 'patch.overlap', edit: other.edit, fact, candidates: [line!] };
  }
  const pieces: string[] = [];
  let done = 0;
  for (const { start, end, fresh } of places) {
    pieces.push(original.slice(done, start), fresh);
    done = end;
  }
  pieces.push(original.slice(done));
  const lines = linesAt(
    original,
    places.map(({ start }) => start),
  );
  return { ok: true, text: pieces.join(''), lines, ...(adapted ? { adapted: ends as 'lf' | 'crlf' } : {}) };
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly fresh: string;
  readonly edit: number;
}

type Refused = (
  reason: ReplaceRefusal['reason'],
  fact: string,
  facts?: Partial<ReplaceRefusal>,
) => ReplaceRefusal;

interface Found {
  readonly starts: readonly number[];
  /** Which of them is meant cannot be said, whatever their number is, since they stand so. */
  readonly unclear?: string;
}

/** CR LF is one end of a line: no place begins or ends within it. */
function placesOf(text: string, old: string, expected: number): Found {
  const starts: number[] = [];
  const most = Math.max(expected + 1, MOST_PLACES + 1);
  for (let at = text.indexOf(old); at >= 0 && starts.length < most; at = text.indexOf(old, at + 1)) {
    const end = at + old.length;
    if (old[0] === '\n' && text[at - 1] === '\r') continue;
    if (old.endsWith('\r') && text[end] === '\n') continue;
    starts.push(at);
    if (starts.length > 1 && at < starts.at(-2)! + old.length)
      return { starts, unclear: 'at places that overlap' };
  }
  // The end of a file that lacks only its last line end is as good a place as one that has it.
  const open = old.replace(/\r?\n$/, '');
  if (starts.length > 0 && open !== old && open !== '' && text.endsWith(open)) {
    const unclear = 'and, but for its last line end, at the end of the file';
    return { starts: [...starts, text.length - open.length], unclear };
  }
  return { starts };
}

/** Whole lines, the first of them empty, where the file has no empty line: a line end of another line would go with them. */
function joinsLines(text: string, start: number, old: string, fresh: string): boolean {
  const empty = /^\r?\n/;
  const whole =
    empty.test(old) && old.endsWith('\n') && !empty.test(fresh) && (fresh === '' || fresh.endsWith('\n'));
  return whole && start > 0 && text[start - 1] !== '\n';
}

/** Of places, and of places within what is added: repeated lines have many. */
const MOST_LOOKED_AT = 100;

/** Whole lines that add to whole lines, and stand around them already: a call that was made twice would add them twice. */
function isMade(text: string, start: number, old: string, fresh: string): boolean {
  if (!old.endsWith('\n') || !fresh.endsWith('\n') || (start > 0 && text[start - 1] !== '\n')) return false;
  let inside = fresh.indexOf(old);
  for (let n = 0; n < MOST_LOOKED_AT && inside >= 0 && inside <= start; n++) {
    const at = start - inside;
    if ((at === 0 || text[at - 1] === '\n') && text.startsWith(fresh, at)) return true;
    inside = fresh.indexOf(old, inside + 1);
  }
  return false;
}

function miscounted(text: string, { starts, unclear }: Found, expected: number, refused: Refused) {
  const candidates = linesAt(text, starts.slice(0, MOST_PLACES));
  const more = starts.length > MOST_PLACES;
  const times = starts.length === 1 ? 'once' : `${more ? `more than ${MOST_PLACES}` : starts.length} times`;
  const where = `${candidates.length === 1 ? 'line' : 'lines'} ${candidates.join(', ')}${more ? ' and more' : ''}`;
  const fact = unclear
    ? `old is in the file ${unclear} (${where}), so which of them is meant is not certain; add more of the text around it`
    : `old is in the file ${times} (${where}), and expected_count is ${expected}; add more of the text around it until it is there only where you mean, or set expected_count to the number of places that shall change`;
  return refused('patch.ambiguous', fact, { candidates, ...(more ? {} : { found: starts.length }) });
}

function notFound(text: string, old: string, fresh: string, ends: LineEnds, refused: Refused) {
  const { actual, candidates, exact } = similarLines(text, old);
  if (actual === undefined) {
    const at = fresh.trim().length >= 8 ? text.indexOf(fresh) : -1;
    if (at >= 0) {
      const [line] = linesAt(text, [at]);
      return refused(
        'patch.stale',
        `old is not in the file, and new is, at line ${line}: the change was made already`,
      );
    }
    return refused(
      'patch.stale',
      'old is not in the file, and nothing like it was found; read the file again',
    );
  }
  const lines = `line${actual.from === actual.to ? '' : 's'} ${actual.from}${actual.from === actual.to ? '' : `–${actual.to}`}`;
  const shown = `:\n${actual.text}`;
  if (!exact) {
    const fact = `old is not in the file; the place most like it, ${lines}, has${shown}`;
    return refused('patch.stale', fact, { actual });
  }
  const why = ends === 'mixed' ? 'white space or line ends (this file has both LF and CRLF)' : 'white space';
  const fact = `old is in the file only with other ${why}, at ${lines}; repeat the call with what the file has${shown}`;
  return refused('patch.stale', fact, { actual, candidates });
}

export function lineEndsOf(text: string): LineEnds {
  const crlf = text.includes('\r\n');
  const lf = /(?:^|[^\r])\n/.test(text);
  return crlf && lf ? 'mixed' : crlf ? 'crlf' : lf ? 'lf' : 'none';
}

/** In a text whose lines end alike, a line end can only mean that one. */
function withEnds(text: string, ends: LineEnds): string {
  if (ends === 'crlf') return text.replace(/\r?\n/g, '\r\n');
  return ends === 'lf' ? text.replaceAll('\r\n', '\n') : text;
}

/** The 1-based lines of ascending places. */
function linesAt(text: string, places: readonly number[]): number[] {
  let line = 1;
  let next = text.indexOf('\n');
  return places.map((place) => {
    for (; next >= 0 && next < place; next = text.indexOf('\n', next + 1)) line++;
    return line;
  });
}
