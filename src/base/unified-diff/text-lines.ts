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

const BOMS = ['\uFEFF', '\u00EF\u00BB\u00BF'];

/** The byte order mark that a text begins with, decoded as UTF-8 or as latin1; else "". */
export function byteOrderMark(text: string): string {
  return BOMS.find((mark) => text.startsWith(mark)) ?? '';
}
