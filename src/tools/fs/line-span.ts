// Owns: finding where some lines begin and end in bytes that arrive in pieces.
// Refuses: to keep the bytes; it only counts.

export interface LineSpan {
  /** Byte offsets of the lines, at most the allowed number of bytes apart. */
  readonly start: number;
  readonly end: number;
  /** The last line that has a byte between them; the line before the first where there is none. */
  readonly lastLine: number;
  readonly truncated: boolean;
  /** The allowed bytes end inside of the first line. */
  readonly cutInLine: boolean;
  /** Lines of all that was added. */
  readonly total: number;
}

export interface LineCounter {
  /** False when the lines are found, and only `total` would change. */
  add(piece: Uint8Array): boolean;
  end(): LineSpan;
}

/** Where lines `first` to `last` (from 1, both included) lie, cut to `maxBytes` at a line's end where one fits. */
export function lineSpan(wanted: { first: number; last: number }, maxBytes: number): LineCounter {
  let offset = 0;
  let line = 1;
  let lineStart = 0;
  let start = wanted.first === 1 ? 0 : -1;
  let end = -1;
  // The last line's end that still fits, and which line that was.
  let fitEnd = -1;
  let fitLine = wanted.first - 1;

  const endLine = (at: number) => {
    if (line >= wanted.first && line <= wanted.last && at - start <= maxBytes) [fitEnd, fitLine] = [at, line];
    if (line === wanted.last) end = at;
    line++;
    lineStart = at;
    if (line === wanted.first) start = at;
  };

  return {
    add(piece) {
      for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) endLine(offset + at + 1);
      offset += piece.length;
      return end < 0 && (start < 0 || offset - start <= maxBytes);
    },
    end() {
      if (lineStart < offset) endLine(offset);
      const total = line - 1;
      if (start < 0 || start >= offset) {
        return {
          start: offset,
          end: offset,
          lastLine: wanted.first - 1,
          truncated: false,
          cutInLine: false,
          total,
        };
      }
      const whole = end < 0 ? offset : end;
      if (whole - start <= maxBytes) {
        const lastLine = Math.min(wanted.last, total);
        return { start, end: whole, lastLine, truncated: false, cutInLine: false, total };
      }
      if (fitEnd > start) {
        return { start, end: fitEnd, lastLine: fitLine, truncated: true, cutInLine: false, total };
      }
      const cut = { start, end: start + maxBytes, truncated: true, cutInLine: true, total };
      return { ...cut, lastLine: maxBytes > 0 ? wanted.first : wanted.first - 1 };
    },
  };
}
