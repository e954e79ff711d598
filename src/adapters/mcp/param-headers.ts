// Owns: arguments that a server wants to see as headers too (`x-mcp-header`): which they are, and how they are written.
// Refuses: a marking that the protocol does not allow; the tool that has it cannot be used over HTTP.
import { isRecord } from '../../base/is-record.ts';

/** The path of an argument, and the end of its header's name. */
export interface ParamHeader {
  readonly path: readonly string[];
  readonly name: string;
}

const MARK = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TYPES = new Set(['string', 'integer', 'boolean']);

/** The markings of an input schema, or what is wrong with them. */
export function paramHeaders(schema: unknown): readonly ParamHeader[] | string {
  const found: ParamHeader[] = [];
  const fault = findMarks(schema, [], true, found);
  if (fault !== undefined) return fault;
  const names = new Set(found.map(({ name }) => name.toLowerCase()));
  return names.size === found.length ? found : `two of its ${MARK} are the same`;
}

/** What a call with these arguments sends. */
export function headersOf(marks: readonly ParamHeader[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, name } of marks) {
    let value: unknown = args;
    for (const key of path) value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    if (value === undefined || value === null) continue;
    headers[`mcp-param-${name.toLowerCase()}`] = encode(String(value));
  }
  return headers;
}

/** The value of `Mcp-Name`. */
export const nameHeader = (name: string): string => encode(name);

const PLAIN = /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/;

/** As it is, or in Base64 where a header could not carry it or it would be taken for Base64. */
function encode(value: string): string {
  const isPlain =
    value === '' || (PLAIN.test(value) && !(value.startsWith('=?base64?') && value.endsWith('?=')));
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

/** `reachable` by properties alone; a marking anywhere else could not be found in the arguments. */
function findMarks(
  schema: unknown,
  path: readonly string[],
  reachable: boolean,
  found: ParamHeader[],
): string | undefined {
  if (Array.isArray(schema)) {
    for (const one of schema) {
      const fault = findMarks(one, path, false, found);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  if (!isRecord(schema)) return undefined;
  const mark = schema[MARK];
  if (mark !== undefined) {
    const fault = markFault(schema, mark, reachable && path.length > 0);
    if (fault !== undefined) return fault;
    found.push({ path, name: String(mark) });
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (DATA.has(keyword)) continue;
    if (keyword === 'properties' && isRecord(value)) {
      for (const [name, property] of Object.entries(value)) {
        const fault = findMarks(property, [...path, name], reachable, found);
        if (fault !== undefined) return fault;
      }
    } else {
      const fault = findMarks(value, path, false, found);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

/** Keywords whose value is no schema. */
const DATA = new Set(['const', 'enum', 'default', 'examples']);

function markFault(
  schema: Readonly<Record<string, unknown>>,
  mark: unknown,
  reachable: boolean,
): string | undefined {
  if (typeof mark !== 'string' || !TOKEN.test(mark)) return `an ${MARK} is no name of a header`;
  if (!reachable) return `the ${MARK} "${mark}" is not on a property that can be reached by properties alone`;
  if (!TYPES.has(String(schema.type)))
    return `the ${MARK} "${mark}" is not on a text, an integer or a boolean`;
  return undefined;
}
