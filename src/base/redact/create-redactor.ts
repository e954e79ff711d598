// Owns: making secrets unreadable in text, bytes, streams and JSON values: registered ones in every form, others by name and by look.
// Refuses: to know where secrets come from, to promise that what merely looks harmless is, and to hold back of a stream without bound.
import { once } from '../once.ts';
import type { Automaton, Span } from './automaton.ts';
import { createAutomaton, mergeSpans, REDACTED, replaceSpans } from './automaton.ts';
import {
  endOfPrivateKey,
  findPlainSettings,
  findPrivateKeys,
  findSecretFormats,
  isSecretSetting,
} from './secret-formats.ts';
import { findAssignments, isSecretKey } from './secret-keys.ts';

interface RedactorOptions {
  /** Values that must never be seen. Those under 4 characters are not registered: they would hide ordinary words. */
  readonly secrets?: readonly string[];
  /**
   * False: registered secrets only, which is right for content that must otherwise stay as it is. True (the default):
   * also what a name (`password`, `authorization`) or a look (`ghp_…`, a private key) gives away; right for logs, audit
   * rows and messages. `settings`: also values of plain settings (`password: abc123`), which is right for what a person
   * judges by its look, such as a question.
   */
  readonly guess?: boolean | 'settings';
}

/** Immutable; other secrets make another redactor. Time is linear in what is redacted. */
export interface Redactor {
  text(text: string): string;
  bytes(bytes: Uint8Array): Uint8Array;
  /** A copy of a JSON value. A member whose name says that it is secret loses its value whole; true, false and null stay. */
  value<T>(value: T): T;
  /** For bytes that come in pieces: a secret is found also where two of them meet. */
  stream(): RedactionStream;
}

const MAX_DEPTH = 200;
/** Names and short values come again and again; what was found in them is remembered, a few at a time. */
const SHORT = 100;
const REMEMBERED = 500;

export function createRedactor({ secrets = [], guess = true }: RedactorOptions = {}): Redactor {
  const textEchoes = once(() => createEchoFinder(secrets, 'text'));
  const byteEchoes = once(() => createEchoFinder(secrets, 'bytes'));

  const redact = (text: string, echoes: EchoFinder): string => {
    const found: Span[] = [];
    echoes.scan(text, found);
    if (guess) findGuesses(text, found);
    if (guess === 'settings') findPlainSettings(text, found);
    return replaceSpans(text, found);
  };
  const ofText = remembering((text) => redact(text, textEchoes()));
  const hides = remembering(guess === 'settings' ? isSecretSetting : isSecretKey);

  const ofValue = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return ofText(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) return REDACTED;
    if (Array.isArray(value)) return value.map((item) => ofValue(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        ofText(key),
        guess && canHide(member) && hides(key) ? REDACTED : ofValue(member, depth + 1),
      ]),
    );
  };

  return Object.freeze({
    text: ofText,
    bytes: (bytes: Uint8Array) => Buffer.from(redact(latin1Of(bytes), byteEchoes()), 'latin1'),
    value: <T>(value: T) => ofValue(value, 0) as T,
    stream: () => createRedactionStream(byteEchoes(), guess ? findGuesses : undefined),
  });
}

function remembering<T>(find: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    if (text.length > SHORT) return find(text);
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= REMEMBERED) known.clear();
    const found = find(text);
    known.set(text, found);
    return found;
  };
}

function findGuesses(text: string, found: Span[]): void {
  findSecretFormats(text, found);
  findPrivateKeys(text, found);
  findAssignments(text, found);
}

const canHide = (member: unknown): boolean => member !== null && typeof member !== 'boolean' && member !== '';

const latin1Of = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1');

interface RedactionStream {
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

/** Shorter ones would hide ordinary words; they are not registered. */
const MIN_SECRET_LENGTH = 4;

interface EchoFinder {
  /** As `Automaton.scan`, over all forms. */
  scan(text: string, found: Span[]): number;
}

/**
 * `bytes`: the text that is scanned holds one character for each byte (latin1), as streams are read; otherwise it is
 * ordinary text.
 */
function createEchoFinder(secrets: readonly string[], kind: 'text' | 'bytes'): EchoFinder {
  const known = secrets
    .flatMap((secret) => [secret, secret.trim()])
    .filter(({ length }) => length >= MIN_SECRET_LENGTH);
  if (known.length === 0) return NOTHING;
  const asRead = kind === 'text' ? (text: string) => text : latin1;
  const encoded = known.map((secret) => Buffer.from(secret));
  const percent = encoded.flatMap((bytes) => [
    bytes.toString('latin1'),
    bytes.toString('latin1').replaceAll(' ', '+'),
  ]);
  const automata: Automaton[] = [
    createAutomaton(known.flatMap(escapes).map(asRead)),
    wholeRuns(createAutomaton(encoded.flatMap(base64Forms), { map: NO_LINE_BREAKS })),
    createAutomaton(
      encoded.map((bytes) => bytes.toString('hex')),
      { map: HEX_DUMP },
    ),
  ];
  const unescaping = createAutomaton(percent, { percent: true });
  return {
    scan(text, found) {
      let settled = text.length;
      for (const automaton of automata) settled = Math.min(settled, automaton.scan(text, found));
      if (text.includes('%')) settled = Math.min(settled, unescaping.scan(text, found));
      return settled;
    },
  };
}

/** What is found, with the run of base64 that it is a part of. */
const wholeRuns = (automaton: Automaton): Automaton => ({
  scan(text, found) {
    const spans: Span[] = [];
    const sure = automaton.scan(text, spans);
    const settled = sure === text.length ? sure : startOfRun(text, sure);
    return spans.length === 0 ? settled : Math.min(settled, findBase64Runs(text, spans, found));
  },
});

/** Where no secret is registered. */
const NOTHING: EchoFinder = { scan: (text) => text.length };

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

/** As it is, in a JSON string (also one inside another), and in HTML. */
function escapes(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [secret, json, JSON.stringify(json).slice(1, -1), asciiJson(secret), ...htmlForms(secret)];
}

const asciiJson = (secret: string): string =>
  JSON.stringify(secret)
    .slice(1, -1)
    .replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

function htmlForms(secret: string): string[] {
  const tags = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quoted = tags.replaceAll('"', '&quot;');
  return [tags, quoted, quoted.replaceAll("'", '&#39;'), quoted.replaceAll("'", '&#x27;')];
}

/**
 * What base64 shows of these bytes wherever they stand in the encoded whole: with 0, 1 or 2 bytes before them in their
 * group, only the characters that depend on nothing else.
 */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const whole = Math.floor((padded.length * 8) / 6);
    const sure = padded.toString('base64').slice(Math.ceil((before * 8) / 6), whole);
    return [sure, sure.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

const identity = (): Int16Array => Int16Array.from({ length: 256 }, (_, code) => code);

function leavingOut(map: Int16Array, characters: string): Int16Array {
  for (const character of characters) map[character.charCodeAt(0)] = -1;
  return map;
}

/** Encoders break base64 into lines. */
const NO_LINE_BREAKS = leavingOut(identity(), '\r\n');

/** Either case, with the separators that dumps put between bytes. */
const HEX_DUMP = leavingOut(
  identity().map((code) => (code >= 65 && code <= 70 ? code + 32 : code)),
  '\r\n :-',
);

/** Adds each span with the run that it lies in, and the padding. Answers from where on more text could change that. */
function findBase64Runs(text: string, spans: readonly Span[], found: Span[]): number {
  let settled = text.length;
  let last: Span = [0, 0];
  for (const [from, to] of spans) {
    // One of the same run: nothing is walked through twice.
    if (from >= last[0] && to <= last[1]) continue;
    last = [startOfRun(text, from), endOfRun(text, to)];
    if (last[1] === text.length) settled = Math.min(settled, last[0]);
    found.push(last);
  }
  return settled;
}

/** Where the run begins that goes on at `at`. */
function startOfRun(text: string, at: number): number {
  let start = at;
  while (start > 0 && isBase64(text.charCodeAt(start - 1))) start -= 1;
  return start;
}

function endOfRun(text: string, at: number): number {
  let end = at;
  while (end < text.length && isBase64(text.charCodeAt(end))) end += 1;
  for (let signs = 0; signs < 2 && text.charCodeAt(end) === PADDING; signs += 1) end += 1;
  return end;
}

const PADDING = 61;

/** Of either alphabet. */
const isBase64 = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 47 && code <= 57) ||
  code === 43 ||
  code === 45 ||
  code === 95;
