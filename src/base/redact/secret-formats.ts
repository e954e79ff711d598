// Owns: what secrets look like: keys with a known prefix, JWTs, passwords in URLs, private keys in PEM and PGP armour; and those that people write as plain settings (`password: abc123`).
// Refuses: patterns that can look at a character more than a few times, and to take the mere mention of a key, or code after its name, for one.
import type { Span } from './automaton.ts';
import { isSecretKey } from './secret-keys.ts';

interface SecretFormat {
  readonly name: string;
  /** A text that holds none of these holds no such secret: a native search is far cheaper than the pattern. */
  readonly hints: readonly string[];
  /** With flags `gd` or `g`. The group `secret`, where there is one, is what is cut. */
  readonly pattern: RegExp;
}

/** Adds a span for everything that looks like a secret. */
export function findSecretFormats(text: string, found: Span[]): void {
  if (text.length < LONG && !ANY_HINT.test(text)) return;
  for (const { hints, pattern } of SECRET_FORMATS) {
    if (!hints.some((hint) => text.includes(hint))) continue;
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices?.groups?.secret ?? [match.index, match.index + match[0].length];
      found.push([start, end]);
    }
  }
}

const format = (name: string, hints: readonly string[], pattern: RegExp): SecretFormat => ({
  name,
  hints,
  pattern,
});

/** A key of one run of characters, not inside of a longer word. */
const prefixed = (name: string, hints: readonly string[], body: string): SecretFormat =>
  format(name, hints, new RegExp(`(?<![A-Za-z0-9_-])(?:${body})`, 'g'));

export const SECRET_FORMATS: readonly SecretFormat[] = [
  prefixed(
    'AWS access key',
    ['AKIA', 'ASIA', 'ABIA', 'ACCA'],
    '(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])',
  ),
  prefixed('GitHub token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], 'gh[pousr]_[A-Za-z0-9_.-]{30,1000}'),
  prefixed('GitHub fine-grained token', ['github_pat_'], 'github_pat_[A-Za-z0-9_]{22,255}'),
  prefixed(
    'GitLab token',
    [
      'glpat-',
      'gldt-',
      'glrt-',
      'glrtr-',
      'glcbt-',
      'glptt-',
      'glft-',
      'glimt-',
      'glagent-',
      'glsoat-',
      'gloas-',
    ],
    'gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_.-]{20,300}',
  ),
  prefixed('Slack token', ['xox', 'xapp-'], '(?:xox[a-z](?:\\.xox[a-z])?|xapp)-[A-Za-z0-9-]{10,300}'),
  format(
    'Slack webhook',
    ['hooks.slack.com'],
    /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[A-Za-z0-9/_-]{20,300})/dg,
  ),
  // OpenAI, Anthropic, OpenRouter, DeepSeek and others. A digit keeps class names and file names out.
  prefixed('model provider key', ['sk-'], 'sk-(?=[A-Za-z0-9_-]{0,200}[0-9])[A-Za-z0-9_-]{20,300}'),
  prefixed(
    'xAI, Groq, Perplexity, Cerebras key',
    ['xai-', 'gsk_', 'pplx-', 'csk-'],
    '(?:xai-|gsk_|pplx-|csk-)[A-Za-z0-9]{32,200}',
  ),
  prefixed(
    'Stripe key',
    ['_live_', '_test_', 'whsec_'],
    '(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{16,300}',
  ),
  prefixed('Google API key', ['AIza'], 'AIza[A-Za-z0-9_-]{35}'),
  prefixed(
    'Google OAuth token',
    ['ya29.', 'GOCSPX-'],
    '(?:ya29\\.[A-Za-z0-9_.-]{20,2000}|GOCSPX-[A-Za-z0-9_-]{20,100})',
  ),
  prefixed('JSON Web Token', ['eyJ'], 'eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]*){1,3}'),
  prefixed('npm token', ['npm_'], 'npm_[A-Za-z0-9]{36,200}'),
  prefixed('PyPI token', ['pypi-'], 'pypi-[A-Za-z0-9_-]{32,1000}'),
  prefixed('crates.io token', ['cio'], 'cio[A-Za-z0-9]{32}(?![A-Za-z0-9])'),
  prefixed('RubyGems key', ['rubygems_'], 'rubygems_[a-f0-9]{48}'),
  prefixed('Docker token', ['dckr_'], 'dckr_[po]at_[A-Za-z0-9_-]{20,100}'),
  prefixed('Hugging Face token', ['hf_'], 'hf_[A-Za-z0-9]{30,100}'),
  prefixed('Replicate token', ['r8_'], 'r8_[A-Za-z0-9]{30,100}'),
  prefixed('DigitalOcean token', ['_v1_'], 'do[opr]_v1_[a-f0-9]{64}'),
  prefixed('SendGrid key', ['SG.'], 'SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,100}'),
  prefixed('Twilio key', ['SK'], 'SK[a-f0-9]{32}(?![A-Za-z0-9])'),
  prefixed('Telegram bot token', [':AA'], '[0-9]{8,12}:AA[A-Za-z0-9_-]{32,40}'),
  prefixed('Shopify token', ['shp'], 'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}'),
  prefixed('Databricks token', ['dapi'], 'dapi[a-f0-9]{32}(?:-[0-9])?'),
  prefixed('Vault token', ['hvs.', 'hvb.', 'hvr.'], 'hv[sbr]\\.[A-Za-z0-9_-]{20,300}'),
  prefixed('Terraform Cloud token', ['.atlasv1.'], '[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_=-]{40,100}'),
  prefixed('Grafana token', ['glsa_', 'glc_'], '(?:glsa|glc)_[A-Za-z0-9_+/=]{32,400}'),
  prefixed(
    'Linear, Notion, Supabase, Postman key',
    ['lin_api_', 'ntn_', 'sbp_', 'PMAK-'],
    '(?:lin_api_|ntn_|sbp_|PMAK-)[A-Za-z0-9-]{32,100}',
  ),
  prefixed('Doppler token', ['dp.'], 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9_.-]{40,80}'),
  prefixed('age key', ['AGE-SECRET-KEY-'], 'AGE-SECRET-KEY-1[0-9A-Z]{50,70}'),
  format('Azure key', ['Key='], /(?:AccountKey|SharedAccessKey)=(?<secret>[A-Za-z0-9+/=]{20,200})/dg),
  format('password in a URL', ['://'], /:\/\/(?<secret>[^\s/?#@"'<>\\]{0,256}:[^\s/?#@"'<>\\]{1,1024})@/dg),
  format(
    'credentials of an HTTP scheme',
    ['earer', 'asic', 'oken', 'EARER', 'ASIC', 'OKEN'],
    /(?<![A-Za-z0-9_-])(?:bearer|basic|token)[ \t]{1,8}(?<secret>(?=[A-Za-z._~+/-]{0,64}[0-9A-Z=])[A-Za-z0-9._~+/=-]{16,8000})/dgi,
  ),
];

/** Beyond this, forty native searches are faster than one of forty patterns. */
const LONG = 256;

const ANY_HINT = new RegExp(
  SECRET_FORMATS.flatMap(({ hints }) => hints.map((hint) => hint.replaceAll('.', '\\.'))).join('|'),
);

/** Adds a span for each block. */
export function findPrivateKeys(text: string, found: Span[]): void {
  if (!text.includes('PRIVATE KEY')) return;
  const begin = new RegExp(BEGIN);
  for (let opened = begin.exec(text); opened; opened = begin.exec(text)) {
    const end = endOfPrivateKey(text, begin.lastIndex);
    found.push([opened.index, end]);
    begin.lastIndex = end;
  }
}

/** Where the block ends whose inside is at `from`. The end of the text where it does not end. */
export function endOfPrivateKey(text: string, from: number): number {
  const piece = new RegExp(PIECE);
  let at = from;
  do {
    piece.lastIndex = at;
    const end = CLOSING.exec(text.slice(at, at + MAX_LINE));
    if (end) return at + end[0].length;
    at = piece.test(text) ? piece.lastIndex : at;
  } while (piece.lastIndex > 0 && at < text.length);
  return at;
}

const MAX_LINE = 128;
const BEGIN = /-----BEGIN [A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?-----/g;
const CLOSING = /^-----END [A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?-----/;

/** A line break (also written as \n), a line of base64, a header such as `Proc-Type: 4,ENCRYPTED`. */
const PIECE =
  /[ \t]{0,64}(?:\r?\n|\\r|\\n)[ \t]{0,64}|[A-Z][A-Za-z-]{2,20}: [^\r\n\\"']{1,200}|[A-Za-z0-9+/=]{1,4096}/y;

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
