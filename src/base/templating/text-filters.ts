// Owns: the filters of Jinja2 that make text of a value.
// Refuses: those that need a clock, chance, or more of HTML than escaping.
import { bind, type Given, integerFor, listFor, made, type Site, textFor } from './callables.ts';
import { templateFault } from './template-fault.ts';
import type { Value } from './values.ts';
import { entriesOf, isDict, isList, isTrue, lookUp, numberOf, repr, sizeOf, textOf } from './values.ts';

export type Filter = (value: Value, given: Given, site: Site) => Value;

const HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
};

const onText =
  (change: (text: string, ...args: readonly Value[]) => string, names: readonly string[] = []): Filter =>
  (value, given, site) => {
    const args = bind('this filter', names, given, site.line);
    return made(change(textFor(value, site), ...args), site);
  };

const escapeHtml: Filter = onText((text) => text.replaceAll(/[&<>'"]/g, (char) => HTML[char] as string));

export const capitalize = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();

/** Every word with a capital letter; words end at spaces and opening brackets. */
const title = (text: string): string =>
  text.replaceAll(/[^-\s({[<]+/g, (word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase());

const trim: Filter = (value, given, site) => {
  const [chars] = bind('trim', ['chars'], given, site.line);
  return strip(
    textFor(value, site),
    chars === undefined || chars === null ? undefined : textOf(chars),
    true,
    true,
  );
};

/** Python's strip: of white space, or of any of these characters. */
export function strip(text: string, chars: string | undefined, left: boolean, right: boolean): string {
  const set = chars === undefined ? undefined : new Set(chars);
  const isOut = (char: string) => (set ? set.has(char) : /\s/.test(char));
  let start = 0;
  let end = text.length;
  while (left && start < end && isOut(text[start] as string)) start++;
  while (right && end > start && isOut(text[end - 1] as string)) end--;
  return text.slice(start, end);
}

const replace: Filter = (value, given, site) => {
  const [old, by, count] = bind('replace', ['old', 'new', 'count'], given, site.line);
  return replaced(
    textFor(value, site),
    textOf(old),
    textOf(by),
    integerFor('replace', count ?? undefined, -1, site),
    site,
  );
};

export function replaced(text: string, old: string, by: string, count: number, site: Site): string {
  const pieces = text.split(old);
  const times = Math.min(count < 0 ? Number.POSITIVE_INFINITY : count, pieces.length - 1);
  site.budget.make(text.length + times * by.length, site.line);
  if (count < 0) return old === '' ? `${by}${[...text].join(by)}${text === '' ? '' : by}` : pieces.join(by);
  return [pieces.slice(0, times + 1).join(by), ...pieces.slice(times + 1)].join(old);
}

const center: Filter = (value, given, site) => {
  const [width] = bind('center', ['width'], given, site.line);
  return padded(textFor(value, site), integerFor('center', width, 80, site), 'center', ' ', site);
};

export function padded(
  text: string,
  width: number,
  where: 'left' | 'right' | 'center',
  fill: string,
  site: Site,
): string {
  const missing = width - text.length;
  if (missing <= 0) return text;
  site.budget.make(width, site.line);
  if (where === 'left') return text + fill.repeat(missing);
  if (where === 'right') return fill.repeat(missing) + text;
  // As Python: where it cannot be even, the odd one goes left if the width is odd too.
  const before = Math.floor(missing / 2) + (missing & width & 1);
  return fill.repeat(before) + text + fill.repeat(missing - before);
}

const indent: Filter = (value, given, site) => {
  const [width, first, blank] = bind('indent', ['width', 'first', 'blank'], given, site.line);
  const text = textFor(value, site);
  const by =
    typeof width === 'string'
      ? width
      : ' '.repeat(Math.min(1000, Math.max(0, integerFor('indent', width, 4, site))));
  const lines = text.split('\n');
  site.budget.make(text.length + lines.length * by.length, site.line);
  return lines
    .map((line, i) => ((i > 0 || isTrue(first)) && (line !== '' || isTrue(blank)) ? by + line : line))
    .join('\n');
};

const truncate: Filter = (value, given, site) => {
  const names = ['length', 'killwords', 'end', 'leeway'];
  const [length, killWords, end, leeway] = bind('truncate', names, given, site.line);
  const text = textFor(value, site);
  const most = integerFor('truncate', length, 255, site);
  const tail = end === undefined ? '...' : textOf(end);
  if (text.length <= most + integerFor('truncate', leeway, 5, site)) return text;
  const cut = text.slice(0, Math.max(0, most - tail.length));
  const space = cut.lastIndexOf(' ');
  return (isTrue(killWords) || space === -1 ? cut : cut.slice(0, space)) + tail;
};

const join: Filter = (value, given, site) => {
  const [between, attribute] = bind('join', ['d', 'attribute'], given, site.line);
  const items = listFor('join', value, site);
  const of = (item: Value) => (attribute === undefined ? item : at(item, attribute));
  return joinedText(items.map(of), textOf(between), site);
};

export function joinedText(items: readonly Value[], between: string, site: Site): string {
  const texts = items.map((item) => textFor(item, site));
  const size = texts.reduce((sum, text) => sum + text.length + between.length, 0);
  site.budget.make(size, site.line);
  return texts.join(between);
}

/** `a.b.0` of a value, as `map(attribute=…)` and the like read it. */
export function at(value: Value, path: Value): Value {
  let found = value;
  for (const key of typeof path === 'string' ? path.split('.') : [path]) {
    const index = numberOf(/^\d+$/.test(String(key)) ? Number(key) : key)?.n;
    if (Array.isArray(found)) found = index === undefined ? undefined : found[index];
    else found = isDict(found) ? lookUp(found, key) : undefined;
  }
  return found;
}

const tojson: Filter = (value, given, site) => {
  const [width] = bind('tojson', ['indent'], given, site.line);
  site.budget.make(2 * sizeOf(value, 8 * 1024 * 1024), site.line);
  const text = jsonText(
    value,
    width === undefined || width === null ? undefined : integerFor('tojson', width, 0, site),
  );
  if (text === undefined)
    throw templateFault('what is to become JSON is undefined, or holds what JSON cannot say', site.line);
  return made(text, site);
};

const urlencode: Filter = (value, given, site) => {
  bind('urlencode', [], given, site.line);
  const quote = (text: Value, safe: string) =>
    encodeURIComponent(textFor(text, site).toWellFormed())
      .replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
      .replaceAll('%2F', safe);
  const pair = ([key, one]: readonly [Value, Value]) =>
    `${quote(key, '%2F')}=${quote(one, '%2F')}`.replaceAll('%20', '+');
  if (isDict(value)) return made(entriesOf(value).map(pair).join('&'), site);
  if (!Array.isArray(value)) return made(quote(value, '/'), site);
  return made(value.map((one) => pair([at(one, 0), at(one, 1)])).join('&'), site);
};

/** `%s`, `%d`, `%f` and their kin, with width and precision, as Python's `%`. */
const format: Filter = (value, { positional, named }, site) => {
  let next = 0;
  const text = textFor(value, site).replaceAll(
    /%(?:\((\w+)\))?([-+ 0#]*)(\d*)(?:\.(\d+))?([sdifxXr%])/g,
    (whole, name, flags: string, width, precision, kind: string) => {
      if (kind === '%') return '%';
      if (name === undefined && next >= positional.length)
        throw templateFault('"format" has fewer values than its text asks for', site.line);
      const given = name === undefined ? positional[next++] : named.get(name);
      const written = formatOne(
        given,
        kind,
        precision === undefined ? undefined : Number(precision),
        flags,
        site,
      );
      const fill = flags.includes('0') && !flags.includes('-') ? '0' : ' ';
      return Number(width) > 10_000
        ? whole
        : padded(written, Number(width), flags.includes('-') ? 'left' : 'right', fill, site);
    },
  );
  return made(text, site);
};

function formatOne(
  value: Value,
  kind: string,
  precision: number | undefined,
  flags: string,
  site: Site,
): string {
  if (kind === 's' || kind === 'r') return textFor(value, site).slice(0, precision);
  const number = numberOf(value);
  if (!number) throw templateFault(`"format" needs a number for %${kind}`, site.line);
  const n = kind === 'f' ? number.n : Math.trunc(number.n);
  const digits =
    kind === 'f'
      ? n.toFixed(Math.min(precision ?? 6, 50))
      : kind === 'x'
        ? n.toString(16)
        : kind === 'X'
          ? n.toString(16).toUpperCase()
          : String(n);
  return flags.includes('+') && n >= 0 ? `+${digits}` : digits;
}

/** Without tags and comments, and with single spaces. */
function stripTags(text: string): string {
  let out = '';
  let at = 0;
  for (let open = text.indexOf('<'); open !== -1; open = text.indexOf('<', at)) {
    const comment = text.startsWith('<!--', open);
    const close = comment ? text.indexOf('-->', open) : text.indexOf('>', open);
    if (close === -1) break;
    out += text.slice(at, open);
    at = close + (comment ? 3 : 1);
  }
  return (out + text.slice(at)).split(/\s+/).filter(Boolean).join(' ');
}

export const TEXT_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['capitalize', onText(capitalize)],
  ['center', center],
  ['e', escapeHtml],
  ['escape', escapeHtml],
  ['format', format],
  ['indent', indent],
  ['join', join],
  ['lower', onText((text) => text.toLowerCase())],
  ['replace', replace],
  ['safe', onText((text) => text)],
  ['string', onText((text) => text)],
  ['striptags', onText(stripTags)],
  ['title', onText(title)],
  ['tojson', tojson],
  ['trim', trim],
  ['truncate', truncate],
  ['upper', onText((text) => text.toUpperCase())],
  ['urlencode', urlencode],
  [
    'wordcount',
    (value, given, site) => {
      bind('wordcount', [], given, site.line);
      return textFor(value, site).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0;
    },
  ],
]);

/** Undefined where the value has no JSON. Keys are sorted, as Jinja2 does. */
function jsonText(value: Value, indent?: number): string | undefined {
  const plain = write(value, indent, '\n');
  return plain?.replaceAll(/[<>&']/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

function write(value: Value, indent: number | undefined, newline: string): string | undefined {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return ascii(JSON.stringify(value));
  const number = numberOf(value);
  if (number) return NAMES[repr(value)] ?? repr(value);
  const deeper = indent === undefined ? '' : newline + ' '.repeat(indent);
  const around = (
    open: string,
    parts: readonly (string | undefined)[],
    close: string,
  ): string | undefined => {
    if (parts.includes(undefined)) return undefined;
    if (parts.length === 0) return open + close;
    if (indent === undefined) return `${open}${parts.join(', ')}${close}`;
    return `${open}${deeper}${parts.join(`,${deeper}`)}${newline}${close}`;
  };
  const next = indent === undefined ? newline : deeper;
  if (isList(value))
    return around(
      '[',
      value.map((item) => write(item, indent, next)),
      ']',
    );
  if (!isDict(value)) return undefined;
  const entries = entriesOf(value)
    .map(([key, item]) => [keyText(key), write(item, indent, next)] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const parts = entries.map(([key, item]) =>
    item === undefined ? undefined : `${ascii(JSON.stringify(key))}: ${item}`,
  );
  return around('{', parts, '}');
}

const NAMES: Readonly<Record<string, string>> = { nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' };

const keyText = (key: Value): string =>
  typeof key === 'boolean' || key === null ? String(key) : textOf(key);

const ascii = (text: string): string =>
  text.replaceAll(/[\x7f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
