// Owns: finding secrets that people write as plain settings: `password: abc123` on a line, `token = "…"`, `password=…` among words.
// Refuses: code: a call, a type, a variable or a placeholder after the name is none. For what a person is shown before they decide.
import type { Span } from './automaton.ts';
import { isSecretKey } from './secret-keys.ts';

/** As `isSecretKey`, and by words that elsewhere are too ordinary: `DB_PASS`. */
export const isSecretSetting = (name: string): boolean => isSecretKey(name) || PASS.test(name);

/** Adds a span for each such value; the names stay. */
export function findPlainSettings(text: string, found: Span[]): void {
  for (const { pattern, accepts } of NOTATIONS)
    for (const match of text.matchAll(pattern)) {
      const span = match.indices?.groups?.value;
      const { name = '', value = '' } = match.groups ?? {};
      if (span && isSecretSetting(name) && accepts(value, name)) found.push(span);
    }
}

const PASS = /(?:^|[^A-Za-z])(?:pass|PASS|Pass)$|[a-z]Pass$/;

interface Notation {
  /** Groups `name` and `value`. */
  readonly pattern: RegExp;
  readonly accepts: (value: string, name: string) => boolean;
}

const LINE = String.raw`^[+\-> ]?[ \t]{0,64}(?:(?:export|set|const|let|var|val|-)[ \t]{1,8})?`;
const NAME = `["']?(?<name>[A-Za-z_][A-Za-z0-9_.-]{0,99})["']?`;

const NOTATIONS: readonly Notation[] = [
  // token = "tok12345678901", alone on its line
  {
    pattern: new RegExp(
      `${LINE}${NAME}[ \\t]{0,16}(?::=|[:=])[ \\t]{0,16}(?<quote>["'\`])(?<value>[^"'\`\\s]{4,1024})\\k<quote>[ \\t]{0,16}[,;]?[ \\t]{0,16}(?:[#/].{0,400})?\\r?$`,
      'dgm',
    ),
    accepts: (value) => !isPlaceholder(value) && !isWord(value),
  },
  // password: abc123, alone on its line; a statement or a member ends in a mark
  {
    pattern: new RegExp(
      `${LINE}${NAME}[ \\t]{0,16}[:=][ \\t]{0,16}(?<value>[^\\s"'\`,;(){}\\[\\]<>$]{4,1024})[ \\t]{0,16}(?:#.{0,400})?\\r?$`,
      'dgm',
    ),
    accepts: isPlainValue,
  },
  // DB_PASS=abc make, psql "host=h password=abc123"
  {
    pattern:
      /(?<![\w.$-])(?<name>[A-Za-z_][A-Za-z0-9_-]{0,99})=(?<value>[^\s"'`,;|&(){}[\]<>$]{4,1024})(?=[\s"'&|;]|$)/dg,
    accepts: (value, name) => isPlainValue(value, name) && (name === name.toUpperCase() || isMixed(value)),
  },
  // curl -H 'x-bearer: abc'
  {
    pattern:
      /["'](?<name>[A-Za-z][A-Za-z0-9]{0,40}-[A-Za-z0-9-]{1,60}):[ \t]{0,8}(?<value>[^"'\r\n$]{4,1024})["']/dg,
    accepts: (value) => !isPlaceholder(value),
  },
];

function isPlainValue(value: string, name: string): boolean {
  if (isPlaceholder(value) || CODE.has(value.toLowerCase()) || isSecretSetting(value)) return false;
  // parser.next, Foo::Bar, password1, nextToken
  if (/^[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+$/.test(value)) return false;
  if (/^(?:pass|token|secret|pwd|api_?key)[a-z]*\d?$/i.test(value)) return false;
  if (/^\d+$/.test(value)) return !/pass$/i.test(name);
  return isMixed(value) || !/[A-Z]/.test(value);
}

/** Letters alone are more often a word of a language than a secret. */
const isMixed = (value: string): boolean => /[^A-Za-z_]/.test(value);
const isWord = (value: string): boolean => /^[A-Za-z][a-z]*$/.test(value) && CODE.has(value.toLowerCase());

const isPlaceholder = (value: string): boolean =>
  /^(?:[<{$%[].*|.*[>}%\]]|\*+|x+|\.+|-+|your[-_ ].*|.*\[redacted\].*|change[-_]?me|placeholder|example|todo|redacted)$/i.test(
    value,
  );

/** Types, values and words of code that stand where a secret would. */
const CODE = new Set(
  (
    'any auto base64 bool boolean buffer byte bytes char data default double enum env false file float hidden hmac input int ' +
    'integer json keyof keyword literal long md5 name never nil none null number object optional option password raw readonly ' +
    'required result self sha1 sha256 sha512 secret secretstr str string symbol text this token true type undefined union ' +
    'unknown utf8 uuid value void'
  ).split(' '),
);
