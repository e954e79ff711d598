// Owns: `tojson`: JSON as Python writes it, safe within HTML as Jinja2 makes it.
// Refuses: what JSON cannot say.
import { entriesOf, isDict, isList, numberOf, repr, textOf, type Value } from './values.ts';

/** Undefined where the value has no JSON. Keys are sorted, as Jinja2 does. */
export function jsonText(value: Value, indent?: number): string | undefined {
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
