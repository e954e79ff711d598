// Owns: from where matches begin and end in a text, the lines that they span.
// Refuses: a second match that begins in the same line.

export interface Extent {
  /** Counted from 0. */
  readonly line: number;
  readonly endLine: number;
  /** The byte of the line at which it begins, from 1. */
  readonly col: number;
  /** The lines, without the last one's terminator. */
  readonly bytes: Buffer;
}

const LF = 10;
const CR = 13;

/** `matches` in order of their beginnings. A line break at the end of a match is of the line that it ends. */
export function extentsOf(
  text: Buffer,
  matches: Iterable<{ readonly start: number; readonly end: number }>,
): Extent[] {
  const extents: Extent[] = [];
  let line = 0;
  let lineStart = 0;
  let last = -1;
  for (const { start, end } of matches) {
    for (
      let next = text.indexOf(LF, lineStart);
      next >= 0 && next < start;
      next = text.indexOf(LF, lineStart)
    ) {
      lineStart = next + 1;
      line++;
    }
    if (line === last) continue;
    last = line;
    let endLine = line;
    let stop = text.indexOf(LF, lineStart);
    for (; stop >= 0 && stop < end - 1; stop = text.indexOf(LF, stop + 1)) endLine++;
    if (stop < 0) stop = text.length;
    else if (stop > lineStart && text[stop - 1] === CR) stop--;
    extents.push({ line, endLine, col: start - lineStart + 1, bytes: text.subarray(lineStart, stop) });
  }
  return extents;
}
