// Owns: events out of a `text/event-stream`, as browsers read it.
// Refuses: to hold an event longer than the bound: it is handed on, line by line of its data, as it comes.

interface ServerEvent {
  readonly data: string;
  /** The last id that the stream gave, this event's or an earlier one's. */
  readonly id: string;
}

interface EventReader {
  /** Answers and throws what `overflow` does. */
  push(chunk: Uint8Array): Promise<void> | undefined;
  /** An event that was too long has come to its end. Nothing may be pushed afterwards. */
  readonly overflown: boolean;
  readonly lastId: string;
  /** How long to wait before coming back, where the server said so, in milliseconds. */
  readonly retryMs: number | undefined;
}

interface EventReaderOptions {
  readonly maxBytes: number;
  event(event: ServerEvent): void;
  /** The data of an event that is too long, in pieces: first what was held of it. */
  overflow(...pieces: readonly Uint8Array[]): Promise<void> | undefined;
}

export function createEventReader({ maxBytes, event, overflow }: EventReaderOptions): EventReader {
  const decoder = new TextDecoder();
  let rest = '';
  /** Of a line whose end has not come. Joined only then: long lines come in many pieces. */
  let pieces: string[] = [];
  let pending = 0;
  let data: string[] = [];
  let held = 0;
  let long: LongEvent | undefined;
  let lastId = '';
  let retryMs: number | undefined;
  const field: Readonly<Record<string, (value: string) => void>> = {
    data(value) {
      data.push(value);
      held += value.length;
    },
    id(value) {
      if (!value.includes('\0')) lastId = value;
    },
    retry(value) {
      if (/^[0-9]+$/.test(value)) retryMs = Number(value);
    },
  };
  const line = (text: string): void => {
    if (text === '') {
      const whole = data;
      data = [];
      held = 0;
      if (whole.length > 0) event({ data: whole.join('\n'), id: lastId });
      return;
    }
    const colon = text.indexOf(':');
    if (colon === 0) return;
    const name = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? '' : text.slice(colon + (text[colon + 1] === ' ' ? 2 : 1));
    if (Object.hasOwn(field, name)) field[name]?.(value);
  };
  return {
    push(chunk) {
      const text = decoder.decode(chunk, { stream: true });
      if (long) return overflow(Buffer.from(long.pass(text)));
      pieces.push(text);
      pending += text.length;
      if (rest === '\r' || /[\r\n]/.test(text)) {
        // A carriage return at the end may be the first half of an end of line.
        const lines = pieces.join('').split(/\r\n|\n|\r(?!$)/);
        rest = lines.pop() ?? '';
        for (const one of lines) line(one);
        pieces = [rest];
        pending = rest.length;
        rest = rest.slice(-1);
      }
      if (held + pending <= maxBytes) return undefined;
      long = createLongEvent(data.length === 0);
      const whole = data.join('\n') + long.pass(pieces.join(''));
      data = [];
      pieces = [];
      return overflow(Buffer.from(whole));
    },
    get overflown() {
      return long?.over === true;
    },
    get lastId() {
      return lastId;
    },
    get retryMs() {
      return retryMs;
    },
  };
}

interface LongEvent {
  /** Takes a piece of the stream, answers what of it is data. */
  pass(text: string): string;
  /** The empty line that ends the event has come. */
  readonly over: boolean;
}

const FIELD = /^data(?:: ?|$)/;
/** `data: `. */
const NAME = 6;

/** Begins at the beginning of a line, of an event that has had no data yet or some. */
function createLongEvent(isFirst: boolean): LongEvent {
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
