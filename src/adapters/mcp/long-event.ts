// Owns: the data of an event that is too long to be held, as it comes: without names of fields, up to the event's end.
// Refuses: to hold more of it than the name of a field.

export interface LongEvent {
  /** Takes a piece of the stream, answers what of it is data. */
  pass(text: string): string;
  /** The empty line that ends the event has come. */
  readonly over: boolean;
}

const FIELD = /^data(?:: ?|$)/;
/** `data: `. */
const NAME = 6;

/** Begins at the beginning of a line, of an event that has had no data yet or some. */
export function createLongEvent(isFirst: boolean): LongEvent {
  let separator = isFirst ? '' : '\n';
  /** Of a line whose field is not known yet. */
  let name: string | undefined = '';
  let isData = false;
  let afterReturn = false;
  let over = false;

  /** Answers what of the line's beginning is data. */
  const know = (text: string): string => {
    name = undefined;
    isData = FIELD.test(text);
    if (!isData) return '';
    const begun = separator + text.replace(FIELD, '');
    separator = '\n';
    return begun;
  };
  const take = (char: string): string => {
    const half = afterReturn && char === '\n';
    afterReturn = char === '\r';
    if (half) return '';
    if (char !== '\n' && char !== '\r') {
      if (name === undefined) return isData ? char : '';
      name += char;
      return name.length < NAME ? '' : know(name);
    }
    over = name === '';
    const begun = name === undefined || over ? '' : know(name);
    name = '';
    return begun;
  };
  return {
    pass(text) {
      const data: string[] = [];
      let from = 0;
      while (from < text.length && !over) {
        const end = name === undefined && !afterReturn ? endOfLine(text, from) : from;
        if (end > from) {
          if (isData) data.push(text.slice(from, end));
          from = end;
        } else data.push(take(text[from++]!));
      }
      return data.join('');
    },
    get over() {
      return over;
    },
  };
}

function endOfLine(text: string, from: number): number {
  const [feed, back] = [text.indexOf('\n', from), text.indexOf('\r', from)];
  if (feed < 0 && back < 0) return text.length;
  return feed < 0 || (back >= 0 && back < feed) ? back : feed;
}
