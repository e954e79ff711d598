// Owns: one server in a TOML text: a table of its own, put at the end, taken out, with every other byte as it was.
// Refuses: a server that is written in another way (inline, or by dotted keys): those are edited by hand.
import type { Json } from '../../../contract/json.ts';
import type { ServerEntry } from './clients.ts';
import { type ConfigFormat, doubt } from './config-format.ts';
import { type Statement, tomlStatements } from './toml-statements.ts';

export const tomlConfig: ConfigFormat = {
  find(text, under, name) {
    return serverOf(text, under, name)?.entry;
  },

  put(text, under, name, entry) {
    const server = serverOf(text, under, name);
    if (!server) return text + gapBefore(text) + render(under, name, entry, eolOf(text));
    const { header, pairs } = server;
    const missing = Object.entries(entry).filter(([key]) => !pairs.some((pair) => pair.key.at(-1) === key));
    const added = missing.map(([key, value]) => `${eolOf(text)}${key} = ${written(value)}`).join('');
    const edits = pairs.flatMap(({ key, valueAt, end, value }) => {
      const wanted = entry[key.at(-1)!];
      const isSame = wanted === undefined || JSON.stringify(value) === JSON.stringify(wanted);
      return isSame ? [] : [{ from: valueAt, to: end, by: written(wanted) }];
    });
    // A comment may follow the header on its line.
    const at = endOfLine(text, header.end);
    return [{ from: at, to: at, by: added }, ...edits]
      .sort((a, b) => b.from - a.from)
      .reduce((changed, { from, to, by }) => changed.slice(0, from) + by + changed.slice(to), text);
  },

  remove(text, under, name) {
    const server = serverOf(text, under, name);
    if (!server) return text;
    if (this.put('', under, name, server.entry) === text) return undefined;
    const isAlone = server.tables.length === 1;
    // From the end, so that the places of the others stay.
    return server.tables.toReversed().reduce((left, { from, to }) => {
      const head = left.slice(0, from);
      const rest = left.slice(to).replace(/^\r?\n/, '');
      const bare = head.replace(/\r?\n$/, '');
      const hasGap = /(^|\n)\r?\n$/.test(head);
      const isLast = isAlone && rest === '' && this.put(bare, under, name, server.entry) === text;
      return (isLast || hasGap ? bare : head) + rest;
    }, text);
  },
};

/** A text without a line break at its end gets no empty line, so that it can be had back. */
const gapBefore = (text: string): string => (text === '' ? '' : eolOf(text));

const eolOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

function endOfLine(text: string, from: number): number {
  const feed = text.indexOf('\n', from);
  if (feed < 0) return text.length;
  return text[feed - 1] === '\r' ? feed - 1 : feed;
}

const render = (under: string, name: string, entry: ServerEntry, eol: string): string =>
  [
    `[${under}.${name}]`,
    ...Object.entries(entry).map(([key, value]) => `${key} = ${written(value)}`),
    '',
  ].join(eol);

/** Strings and lists of strings are written in TOML as in JSON, but for one character. */
const written = (value: Json): string =>
  Array.isArray(value)
    ? `[${value.map(written).join(', ')}]`
    : JSON.stringify(value).replaceAll('\x7f', '\\u007f');

interface Server {
  readonly header: Statement;
  readonly pairs: readonly Statement[];
  /** The text of the table, and of those below it. */
  readonly tables: readonly { readonly from: number; readonly to: number }[];
  readonly entry: ServerEntry;
}

function serverOf(text: string, under: string, name: string): Server | undefined {
  const statements = tomlStatements(text);
  const isOf = ({ key }: Statement, ...words: string[]) => words.every((word, i) => key[i] === word);
  const whole = statements.find((one) => one.key.length === 1 && isOf(one, under) && one.kind !== 'table');
  if (whole) throw doubt(text, whole.start, `"${under}" is not a plain table; edit it by hand`);
  const own = statements.filter((one) => isOf(one, under, name));
  if (own.length === 0) return undefined;
  const header = own.find(({ kind, key }) => kind === 'table' && key.length === 2);
  const odd = header ? own.find(({ kind, inherited }) => kind === 'pair' && inherited < 2) : own[0];
  if (odd || !header)
    throw doubt(
      text,
      odd!.start,
      `the server is not written as one table [${under}.${name}]; edit it by hand`,
    );
  const tables = own
    .filter(({ kind }) => kind !== 'pair')
    .map((table) => {
      const next = statements.find(({ kind, start }) => kind !== 'pair' && start > table.start);
      const last = statements.findLast(({ start }) => start < (next?.start ?? text.length))!;
      return { from: table.start, to: endOfLine(text, last.end) };
    });
  const pairs = own.filter(
    ({ kind, inherited, key }) => kind === 'pair' && inherited === 2 && key.length === 3,
  );
  const beyond = own.filter((one) => one !== header && !pairs.includes(one));
  const entries = [...pairs, ...beyond].map(({ key, value }) => [key.slice(2).join('.'), value] as const);
  return { header, pairs, tables, entry: Object.fromEntries(entries) };
}
