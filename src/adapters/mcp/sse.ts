// Owns: events out of a `text/event-stream`, as browsers read it.
// Refuses: an event longer than the bound.

export interface ServerEvent {
  readonly data: string;
  /** The last id that the stream gave, this event's or an earlier one's. */
  readonly id: string;
}

export interface EventReader {
  /** What it throws: what `tooLong` throws. */
  push(chunk: Uint8Array): void;
  readonly lastId: string;
  /** How long to wait before coming back, where the server said so, in milliseconds. */
  readonly retryMs: number | undefined;
}

export interface EventReaderOptions {
  readonly maxBytes: number;
  event(event: ServerEvent): void;
  tooLong(): Error;
}

export function createEventReader({ maxBytes, event, tooLong }: EventReaderOptions): EventReader {
  const decoder = new TextDecoder();
  let rest = '';
  /** Of a line whose end has not come. Joined only then: long lines come in many pieces. */
  let pieces: string[] = [];
  let pending = 0;
  let data: string[] = [];
  let held = 0;
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
      if (held + pending > maxBytes) throw tooLong();
    },
    get lastId() {
      return lastId;
    },
    get retryMs() {
      return retryMs;
    },
  };
}
