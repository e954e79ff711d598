// Owns: the forms in which a registered secret can come back: as it is, escaped, base64 in all alignments, hex, percent-encoded.
// Refuses: compressed, encrypted or reordered forms; nobody can know those.
import { type Automaton, createAutomaton, type Span } from './automaton.ts';

/** Shorter ones would hide ordinary words; they are not registered. */
const MIN_SECRET_LENGTH = 4;

export interface EchoFinder {
  /** As `Automaton.scan`, over all forms. */
  scan(text: string, found: Span[]): number;
}

/**
 * `bytes`: the text that is scanned holds one character for each byte (latin1), as streams are read; otherwise it is
 * ordinary text.
 */
export function createEchoFinder(secrets: readonly string[], kind: 'text' | 'bytes'): EchoFinder {
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
