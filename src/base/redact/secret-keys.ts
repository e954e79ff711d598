// Owns: which names say that their value is a secret (of JSON members, headers, variables, query parameters), and finding such values in running text.
// Refuses: to judge values, and ordinary code: `token = next()` is no secret, `API_TOKEN=…` and `"token": "…"` are.
import type { Span } from './automaton.ts';

/**
 * True for `authorization`, `X-Api-Key`, `DB_PASSWORD`, `clientSecret`; false for `max_tokens`, `next_page_token`,
 * `password_policy`. Judged by the words of the name, whatever their case and separators.
 */
export function isSecretKey(name: string): boolean {
  if (name.length > MAX_NAME) return false;
  const words = wordsOf(name);
  const last = words.at(-1);
  if (last === undefined) return false;
  const joined = words.join('');
  if (HARMLESS.has(joined)) return false;
  if (WHOLE.has(joined) || LAST_WORD.has(last)) return true;
  return LAST_PAIR.has((words.at(-2) ?? '') + last);
}

const MAX_NAME = 128;

function wordsOf(name: string): string[] {
  // Beyond ASCII there are capitals of ordinary letters, such as the sign of kelvin.
  const spaced = /[A-Z\u0080-\uffff]/.test(name)
    ? name
        .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
        .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
        .toLowerCase()
    : name;
  return spaced.split(/[^a-z0-9]+/).filter(Boolean);
}

const LAST_WORD = new Set(
  (
    'apikey apitoken accesstoken authtoken authorization authkey bearer clientsecret cookie credential ' +
    'credentials passphrase passwd password privatekey pwd refreshtoken secret secretkey secrets ' +
    'sessiontoken signature token'
  ).split(' '),
);

/** The last two words together. */
const LAST_PAIR = new Set(
  (
    'accesskey accountkey apikey authkey connectionstring encryptionkey masterkey privatekey secretkey ' +
    'servicekey sessionkey setcookie sharedkey signingkey sshkey ghpat githubpat gitlabpat ' +
    'adminpass dbpass ftppass mailpass mysqlpass pgpass proxypass rootpass smtppass userpass'
  ).split(' '),
);

/** Secret only where they are the whole name. */
const WHOLE = new Set('auth jwt pass pat pgpassword sessionid sid sig xamzsecuritytoken'.split(' '));

/** Named like secrets, and none: places in a list, marks of a form. */
const HARMLESS = new Set(
  (
    'cancellationtoken continuationtoken cursortoken nextpagetoken nexttoken pagetoken progresstoken ' +
    'synctoken'
  ).split(' '),
);

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
