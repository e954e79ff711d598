// Owns the view of a text as lines that end in "\n", "\r\n" or, at its end, nothing.
// Refuses to change or interpret characters: strings decoded as UTF-8 and as latin1 work alike.

export interface TextLines {
  readonly text: string;
  readonly count: number;
  /** Where line i begins in `text`; `starts[count]` is the text's length. */
  readonly starts: Uint32Array;
  /** False when the last line has no "\n". True for an empty text. */
  readonly terminated: boolean;
}

export function textLines(text: string): TextLines {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  const terminated = starts[starts.length - 1] === text.length;
  if (!terminated) starts.push(text.length);
  return { text, count: starts.length - 1, starts: Uint32Array.from(starts), terminated };
}

/** Line i as it stands in the text, its terminator included. */
export function wholeLine(lines: TextLines, i: number): string {
  return lines.text.slice(lines.starts[i], lines.starts[i + 1]);
}

/** Lines `from` up to, not including, `to`, as they stand in the text. */
export function lineRange(lines: TextLines, from: number, to: number): string {
  return lines.text.slice(lines.starts[from], lines.starts[to]);
}

/** "\r\n", "\n", or "" for a last line without one. */
export function terminatorOf(whole: string): string {
  return whole.endsWith('\r\n') ? '\r\n' : whole.endsWith('\n') ? '\n' : '';
}

/** Lines of a file, whole, as they are. */
export interface ActualLines {
  /** Both 1-based and included. */
  readonly from: number;
  readonly to: number;
  /** Cut where it is long. */
  readonly text: string;
}

const MOST_LINES = 60;
const MOST_TEXT = 4000;

/** Lines `from` to `to`, 0-based, both included. */
export function actualLines(lines: TextLines, from: number, to: number): ActualLines {
  const shown = Math.min(to, from + MOST_LINES - 1);
  const text = lineRange(lines, from, shown + 1).replace(/\r?\n$/, '');
  const cut = shown < to || text.length > MOST_TEXT;
  return { from: from + 1, to: to + 1, text: cut ? `${text.slice(0, MOST_TEXT)}\n…` : text };
}

const BOMS = ['\uFEFF', '\u00EF\u00BB\u00BF'];

/** The byte order mark that a text begins with, decoded as UTF-8 or as latin1; else "". */
export function byteOrderMark(text: string): string {
  return BOMS.find((mark) => text.startsWith(mark)) ?? '';
}
