// Owns: going through the lines of a text that say something: not the empty ones, and not comments.
// Refuses: what they say.

/** The lines of the text that say something, one after the other. */
export interface Lines {
  readonly text: string;
  /** Where the line begins, where its first character is, and where it ends. */
  start: number;
  at: number;
  end: number;
  /** How many spaces it begins with; where an entry of a list begins a map, as far as that. */
  indent: number;
  /** The next line that says something. The same again until it was used. */
  next(): boolean;
  /** What comes next begins here, at the start of a line. */
  skipTo(start: number): void;
  use(): void;
}

export function createLines(text: string): Lines {
  let from = 0;
  let ready = false;
  const lines: Lines = {
    text,
    start: 0,
    at: 0,
    end: 0,
    indent: 0,
    next() {
      if (ready) return true;
      while (from < text.length) {
        let end = text.indexOf('\n', from);
        if (end === -1) end = text.length;
        let at = from;
        while (at < end && text.charCodeAt(at) === SPACE) at++;
        const start = from;
        from = end + 1;
        if (at === end || text.charCodeAt(at) === HASH) continue;
        lines.start = start;
        lines.at = at;
        lines.end = end;
        lines.indent = at - start;
        ready = true;
        return true;
      }
      return false;
    },
    skipTo(start) {
      from = start;
      ready = false;
    },
    use() {
      ready = false;
    },
  };
  return lines;
}

const SPACE = 32;
const HASH = 35;
