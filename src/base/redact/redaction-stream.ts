// Owns: redacting bytes that arrive in pieces, holding back only what a secret could still continue.
// Refuses: to hold back without bound: where no line ends, a limit does.
import type { Span } from './automaton.ts';
import type { EchoFinder } from './echoes.ts';
import { endOfPrivateKey } from './private-keys.ts';
import { mergeSpans, REDACTED } from './spans.ts';

export interface RedactionStream {
  /** Takes a piece; answers what can be shown by now. Output comes by whole lines. */
  push(chunk: Uint8Array): Uint8Array;
  /** Answers the rest. Nothing may be pushed afterwards. */
  end(): Uint8Array;
}

/** A line longer than this is judged in parts, which overlap: only a secret longer than the overlap could be missed. */
const MAX_PENDING = 256 * 1024;
const OVERLAP = 64 * 1024;
/** So much is judged again with every line; more only once it has doubled, so that time stays linear. */
const CHEAP = 4096;

const LINE_FEED = 10;
const EMPTY = new Uint8Array(0);
const OPENING = /^-----BEGIN [A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?-----/;

export function createRedactionStream(
  echoes: EchoFinder,
  guess: ((text: string, found: Span[]) => void) | undefined,
): RedactionStream {
  let pieces: string[] = [];
  let length = 0;
  let held = 0;
  let insideKey = false;

  const hold = (text: string): void => {
    pieces = text === '' ? [] : [text];
    length = text.length;
    held = length;
  };

  /** Judges what is pending, and shows it up to where nothing that follows can change the judgement. */
  const settle = (last: boolean): Uint8Array => {
    let text = pieces.join('');
    if (insideKey) {
      const lines = last ? text.length : text.lastIndexOf('\n') + 1;
      const end = endOfPrivateKey(text.slice(0, lines), 0);
      text = text.slice(end);
      insideKey = end === lines && !last;
      if (insideKey) {
        hold(text.slice(-OVERLAP));
        return EMPTY;
      }
    }
    const found: Span[] = [];
    const sure = echoes.scan(text, found);
    guess?.(text, found);
    const spans = mergeSpans(found);

    let cut = last ? text.length : Math.min(sure, text.lastIndexOf('\n') + 1);
    if (!last && text.length > MAX_PENDING) cut = Math.max(cut, text.length - OVERLAP);
    const across = spans.find(([start, end]) => start < cut && end >= cut);
    if (across && !last && guess && isOpenKey(text.slice(across[0], cut))) insideKey = true;
    else if (across && across[1] > cut) cut = across[text.length > 2 * MAX_PENDING ? 1 : 0];
    const shown = cutOut(text.slice(0, cut), spans);
    hold(text.slice(cut));
    return Buffer.from(shown, 'latin1');
  };

  return {
    push(chunk) {
      if (chunk.length === 0) return EMPTY;
      pieces.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1'));
      length += chunk.length;
      const due = length > MAX_PENDING || chunk.includes(LINE_FEED);
      return due && (held < CHEAP || length > 2 * held) ? settle(false) : EMPTY;
    },
    end: () => settle(true),
  };
}

/** `text` is the beginning of what the spans are in. */
function cutOut(text: string, spans: readonly Span[]): string {
  let shown = '';
  let kept = 0;
  for (const [start, end] of spans) {
    if (start >= text.length) break;
    shown += text.slice(kept, start) + REDACTED;
    kept = end;
  }
  return shown + text.slice(kept);
}

/** A private key begins in these lines that nothing in them ends: what follows is swallowed as it comes. */
function isOpenKey(lines: string): boolean {
  if (!lines.endsWith('\n') || !lines.includes('-----BEGIN')) return false;
  const from = lines.lastIndexOf('-----BEGIN');
  const opening = OPENING.exec(lines.slice(from));
  return opening !== null && endOfPrivateKey(lines, from + opening[0].length) === lines.length;
}
