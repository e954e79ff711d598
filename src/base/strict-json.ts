// Owns: reading JSON text that will be hashed: JSON.parse, without its habit of letting the last of two equal keys win.
// Refuses: duplicate keys, nesting over MAX_DEPTH and anything that is not JSON; a message never quotes the text.
import { MAX_DEPTH } from './canonical-json.ts';
import { jsonPointer, type Rejection, rejection } from './rejection.ts';

/** The value of `text`; throws a `Rejection` that names the path of a duplicate key or of too deep a value. */
export function parseStrict(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw rejection('input.not_json', `Cannot parse the text as JSON: ${whyNotJson(error)}`);
  }
  // A duplicate vanishes from the value but not from the text, so it shows in the counts. No tree, no sets.
  if (typeof value === 'object' && value !== null && countMembers(value, 1) !== countKeys(text))
    throw findCulprit(text);
  return value;
}

/** The members of every object in `value`; NaN, which equals no count, where it nests too deeply. */
function countMembers(value: object, depth: number): number {
  if (depth > MAX_DEPTH) return Number.NaN;
  const isArray = Array.isArray(value);
  const children: readonly unknown[] = isArray ? value : Object.values(value);
  let count = isArray ? 0 : children.length;
  for (let i = 0; i < children.length; i++) {
    const child = children[i];
    if (typeof child === 'object' && child !== null) count += countMembers(child, depth + 1);
  }
  return count;
}

/** The strings of valid JSON text that a colon follows. */
function countKeys(text: string): number {
  let count = 0;
  for (let open = text.indexOf('"'); open !== -1; ) {
    const after = skipSpace(text, closingQuote(text, open) + 1);
    if (text.charCodeAt(after) === COLON) count++;
    open = text.indexOf('"', after);
  }
  return count;
}

/** Left to the native search: a loop over the characters is slower from eight on. */
function closingQuote(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  while (isEscaped(text, close)) close = text.indexOf('"', close + 1);
  return close;
}

/** Whether what is at this place has an odd number of backslashes before it. */
export function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (at - start) % 2 === 1;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= SPACE) at++;
  return at;
}

interface Frame {
  readonly keys: Set<string> | undefined;
  segment: string | number;
}

/** Walks the text again, slowly, with what a message needs. Only called when there is something to find. */
function findCulprit(text: string): Rejection {
  const frames: Frame[] = [];
  const refuse = (fact: string, depth: number): Rejection => {
    const path = jsonPointer(frames.slice(0, depth).map((frame) => frame.segment));
    return rejection('input.not_canonical', `Cannot accept the JSON at "${path}": ${fact}`, path);
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    const top = frames.at(-1);
    if (char === '{' || char === '[') {
      if (frames.length === MAX_DEPTH) return refuse(`it lies more than ${MAX_DEPTH} levels deep`, MAX_DEPTH);
      frames.push(char === '{' ? { keys: new Set(), segment: '' } : { keys: undefined, segment: 0 });
    } else if (char === '}' || char === ']') {
      frames.pop();
    } else if (char === ',' && typeof top?.segment === 'number') {
      top.segment++;
    } else if (char === '"') {
      const close = closingQuote(text, at);
      if (top?.keys && text.charCodeAt(skipSpace(text, close + 1)) === COLON) {
        const key = JSON.parse(text.slice(at, close + 1)) as string;
        top.segment = key;
        if (top.keys.has(key)) return refuse('the key is there twice', frames.length);
        top.keys.add(key);
      }
      at = close;
    }
  }
  return refuse('its keys cannot be told apart', 0);
}

/** V8's own messages quote the text around the fault, which may be a secret; its place and token are enough. */
function whyNotJson(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  if (message.startsWith('Unexpected end')) return 'it ends too early';
  const place = /\(line \d+ column \d+\)/.exec(message)?.[0];
  if (place !== undefined) return `syntax error ${place}`;
  const token = /^Unexpected token '(.{1,2})'/su.exec(message)?.[1];
  return token === undefined ? 'syntax error' : `unexpected token ${JSON.stringify(token)}`;
}

const SPACE = 32;
const COLON = 58;
const BACKSLASH = 92;
