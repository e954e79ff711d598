// Owns: making secrets unreadable in text, bytes and JSON values: registered ones in every form, others by name and by look.
// Refuses: to know where secrets come from, and to promise that what merely looks harmless is.
import { once } from '../once.ts';
import { findAssignments } from './assignments.ts';
import type { Span } from './automaton.ts';
import { createEchoFinder, type EchoFinder } from './echoes.ts';
import { findPlainSettings, isSecretSetting } from './plain-settings.ts';
import { findPrivateKeys } from './private-keys.ts';
import { createRedactionStream, type RedactionStream } from './redaction-stream.ts';
import { findSecretFormats } from './secret-formats.ts';
import { isSecretKey } from './secret-keys.ts';
import { REDACTED, replaceSpans } from './spans.ts';

export interface RedactorOptions {
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
