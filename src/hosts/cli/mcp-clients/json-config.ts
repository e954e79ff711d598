// Owns: one server in a JSON or JSONC text: found, put, taken out, with every other byte as it was.
// Refuses: text that is not valid for its client, and keys that occur twice: which one counts is not certain.
import {
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import type { Json } from '../../../contract/json.ts';
import type { ServerEntry } from './clients.ts';
import { type ConfigFormat, doubt } from './config-format.ts';

export const jsonConfig = (strict: boolean): ConfigFormat => ({
  find(text, under, name) {
    const root = parse(text, strict);
    const found = root && findNodeAtLocation(root, [under, name]);
    return found && (getNodeValue(found) as Json);
  },

  put(text, under, name, entry) {
    const root = parse(text, strict);
    const look = lookOf(text, root);
    if (!root) return `${render({ [under]: { [name]: entry } }, '', look)}${look.eol}`;
    const servers = findNodeAtLocation(root, [under]);
    if (!servers) return insert(text, root, under, { [name]: entry }, look);
    const server = findNodeAtLocation(servers, [name]);
    if (!server) return insert(text, servers, name, entry, look);
    return update(text, server, entry, look);
  },

  remove(text, under, name) {
    const root = parse(text, strict);
    const servers = root && findNodeAtLocation(root, [under]);
    const server = servers && findNodeAtLocation(servers, [name]);
    if (!server) return text;
    const entry = getNodeValue(server) as ServerEntry;
    const puts = (before: string) => this.put(before, under, name, entry) === text;
    if (puts('')) return undefined;
    // The object around it was made for it, unless making it anew gives another text.
    const whole = cut(text, root, under);
    return servers.children!.length === 1 && puts(whole) ? whole : cut(text, servers, name);
  },
});

/** Undefined where there is nothing but white space. */
function parse(text: string, strict: boolean): Node | undefined {
  if (text.trim() === '') return undefined;
  const errors: ParseError[] = [];
  const rules = { disallowComments: strict, allowTrailingComma: !strict };
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, rules);
  } catch {
    throw doubt(text, 0, 'it is nested too deeply');
  }
  const [error] = errors;
  if (error) {
    const what = printParseErrorCode(error.error).replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ');
    throw doubt(text, error.offset, `it is not valid JSON (${what.toLowerCase()})`);
  }
  if (!root) throw doubt(text, 0, 'it holds no value');
  checkKeys(text, root, 2);
  return root;
}

/** Objects down to the servers, and no key twice. */
function checkKeys(text: string, node: Node, levels: number): void {
  if (node.type !== 'object') {
    if (levels === 2) throw doubt(text, node.offset, 'it is not an object');
    return;
  }
  const seen = new Set<string>();
  for (const property of node.children!) {
    const [key, value] = property.children as [Node, Node];
    if (seen.has(key.value)) throw doubt(text, key.offset, `the key "${key.value}" is there twice`);
    seen.add(key.value);
    if (levels > 0) checkKeys(text, value, levels - 1);
  }
}

interface Look {
  readonly eol: string;
  readonly unit: string;
}

function lookOf(text: string, root: Node | undefined): Look {
  const first = root?.children?.[0];
  const own = first && indentBefore(text, first.offset);
  return { eol: text.includes('\r\n') ? '\r\n' : '\n', unit: own || '  ' };
}

/** The white space before a token that begins its line; undefined where something else is before it. */
const indentBefore = (text: string, at: number): string | undefined =>
  /(?:^|\n)([ \t]*)$/.exec(text.slice(0, at))?.[1];

const lineIndent = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))![0];

const render = (value: Json, indent: string, { eol, unit }: Look): string =>
  JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`);

/** Behind what is there, also behind a comment on its line; an object on one line stays on it. */
function insert(text: string, object: Node, key: string, value: Json, look: Look): string {
  if (object.type !== 'object') throw doubt(text, object.offset, 'it is not an object');
  const close = object.offset + object.length - 1;
  const last = object.children!.at(-1);
  const from = last ? last.offset + last.length : object.offset + 1;
  const { end, comma } = tokens(text, from, close);
  const isFlat = !text.slice(object.offset, close).includes('\n');
  const indent =
    (last && indentBefore(text, last.offset)) ?? `${lineIndent(text, object.offset)}${look.unit}`;
  const before = isFlat ? (last ? ' ' : '') : `${look.eol}${indent}`;
  const fresh = isFlat ? JSON.stringify(value) : render(value, indent, look);
  const isFollowed = comma !== undefined;
  const separator = last && !isFollowed ? ',' : '';
  return (
    text.slice(0, from) +
    separator +
    text.slice(from, end) +
    `${before}${JSON.stringify(key)}: ${fresh}${isFollowed ? ',' : ''}` +
    text.slice(end)
  );
}

/** Only what differs: keys that somebody added stay. */
function update(text: string, server: Node, entry: ServerEntry, look: Look): string {
  if (server.type !== 'object') throw doubt(text, server.offset, 'it is not an object');
  for (const [key, value] of Object.entries(entry)) {
    const node = findNodeAtLocation(server, [key]);
    if (node && JSON.stringify(getNodeValue(node)) === JSON.stringify(value)) continue;
    if (!node) return again(insert(text, server, key, value, look));
    const isFlat = !text.slice(node.offset, node.offset + node.length).includes('\n');
    const fresh = isFlat ? JSON.stringify(value) : render(value, lineIndent(text, node.offset), look);
    return again(text.slice(0, node.offset) + fresh + text.slice(node.offset + node.length));
  }
  return text;

  function again(changed: string): string {
    const root = parseTree(changed, [], { allowTrailingComma: true })!;
    return update(changed, findNodeAtLocation(root, pathOf(server))!, entry, look);
  }
}

/** The keys that lead to a value of an object. */
function pathOf(node: Node): string[] {
  const property = node.parent;
  return property?.parent ? [...pathOf(property.parent), property.children![0]!.value] : [];
}

/** The inverse of `insert`. */
function cut(text: string, object: Node, key: string): string {
  const at = object.children!.findIndex(({ children }) => children![0]!.value === key);
  const [before, own, after] = [-1, 0, 1].map((step) => object.children![at + step]);
  const ends = (node: Node) => node.offset + node.length;
  const start = tokens(text, at > 0 ? ends(before!) : object.offset + 1, own!.offset);
  const close = after?.offset ?? ends(object) - 1;
  const follow = tokens(text, ends(own!), close);
  const rest =
    follow.comma === undefined
      ? text.slice(ends(own!))
      : text.slice(ends(own!), follow.comma) + text.slice(follow.comma + 1);
  // What follows must not become a part of the comment before it.
  const breaks = start.isLineComment && !/^[ \t]*\r?\n/.test(rest);
  const head = text.slice(0, breaks ? text.indexOf('\n', start.end) + 1 : start.end);
  return (follow.comma === undefined && at > 0 ? withoutChar(head, start.comma!) : head) + rest;
}

const withoutChar = (text: string, at: number) => text.slice(0, at) + text.slice(at + 1);

/** Of what lies between two places: where its last comment or comma ends, and where the comma is. */
interface Between {
  readonly end: number;
  readonly comma: number | undefined;
  readonly isLineComment: boolean;
}

function tokens(text: string, from: number, to: number): Between {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let end = from;
  let comma: number | undefined;
  let isLineComment = false;
  for (scanner.scan(); scanner.getTokenLength() > 0 && scanner.getTokenOffset() < to; scanner.scan()) {
    const at = scanner.getTokenOffset();
    const token = text.slice(at, at + scanner.getTokenLength());
    if (token.trim() === '') continue;
    if (token === ',') comma = at;
    isLineComment = token.startsWith('//');
    end = at + token.length;
  }
  return { end, comma, isLineComment };
}
