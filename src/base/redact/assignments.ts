// Owns: finding values in running text that stand beside the name of a secret: variables, flags, query parameters, members, headers.
// Refuses: ordinary code: `token = next()` is no secret, `API_TOKEN=…` and `"token": "…"` are.
import type { Span } from './automaton.ts';
import { isSecretKey } from './secret-keys.ts';

/** Adds a span for each such value; the names stay. */
export function findAssignments(text: string, found: Span[]): void {
  for (const { sign, pattern, accepts } of NOTATIONS) {
    if (!text.includes(sign)) continue;
    for (const match of text.matchAll(pattern)) {
      const span = match.indices?.groups?.value;
      const name = match.groups?.name ?? '';
      if (span && span[1] > span[0] && isSecretKey(name) && (accepts?.(name) ?? true)) found.push(span);
    }
  }
}

interface Notation {
  /** A text without it holds nothing in this notation. */
  readonly sign: string;
  /** Groups `name` and `value`. */
  readonly pattern: RegExp;
  readonly accepts?: (name: string) => boolean;
}

const NOTATIONS: readonly Notation[] = [
  // DB_PASSWORD=hunter2 npm start
  {
    sign: '=',
    pattern: /(?<![A-Za-z0-9_-])(?<name>[A-Z_][A-Z0-9_]{0,99})=(?<value>[^\s"'&;|)]{1,4096})/dg,
  },
  {
    sign: '=',
    pattern: /(?<![A-Za-z0-9_-])(?<name>[A-Z_][A-Z0-9_]{0,99})=(?<quote>["'])(?<value>[^"'\n]{1,4096})/dg,
  },
  // --api-key=abc, --password abc
  {
    sign: '--',
    pattern:
      /(?<![A-Za-z0-9_-])--(?<name>[a-z][a-z0-9-]{0,99})(?:=|[ \t]{1,8})["']?(?<value>(?!-)[^\s"']{1,4096})/dg,
  },
  // ?access_token=abc&sig=def
  { sign: '=', pattern: /[?&;](?<name>[A-Za-z0-9_.-]{1,100})=(?<value>[^\s&;"'<>#]{1,8192})/dg },
  // "client_secret": "abc", as JSON and as JSON inside a JSON string
  {
    sign: '"',
    pattern: /"(?<name>[A-Za-z0-9_.-]{1,100})"\s{0,8}:\s{0,8}"(?<value>(?:[^"\\]|\\.){1,8192})/dgs,
  },
  {
    sign: '\\"',
    pattern: /\\"(?<name>[A-Za-z0-9_.-]{1,100})\\"\s{0,8}:\s{0,8}\\"(?<value>[^"\\]{1,8192})/dg,
  },
  // Authorization: Basic abc, at the beginning of a line (also after the marks of curl -v and diffs)
  {
    sign: ':',
    pattern:
      /^[<>+*\- \t]{0,8}(?<name>[A-Za-z][A-Za-z0-9-]{1,99}):[ \t]{0,8}(?<value>[^\s][^\r\n]{0,8191})/dgm,
    accepts: (name) => HEADERS.test(name),
  },
];

/** Of names before a colon only these: `token: string` is a declaration. */
const HEADERS = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-.+|[a-z]+-(?:token|key|secret))$/i;
