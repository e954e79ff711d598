// Owns: what a shape takes, in words, and what to type where something else was found.
// Refuses: finding out what is wrong; that is check-shape.
import { applyShape, type ByShape, type ListShape, type Shape } from '../../contract/shape.ts';

/** For messages and pages: `a whole number from 1`. */
export function expected(shape: Shape): string {
  return applyShape(EXPECTED, shape);
}

const EXPECTED: ByShape<[], string> = {
  text: () => 'text',
  choice: ({ of }) => (of.length > 1 ? `${of.slice(0, -1).join(', ')} or ${of.at(-1)}` : String(of[0])),
  number: ({ min, max, fraction }) => {
    const what = fraction ? 'a number' : 'a whole number';
    return max === Number.MAX_SAFE_INTEGER ? `${what} from ${min}` : `${what} from ${min} to ${max}`;
  },
  flag: () => 'true or false',
  constant: ({ value }) => `the number ${value}`,
  list: ({ item }) => `a list (each ${expected(item)})`,
  map: () => 'a map',
  record: ({ keyName, value }) => `a map (${keyName} to ${expected(value)})`,
  variants: () => 'a map',
  shorthand: ({ map }) => `text or ${expected(map)}`,
  open: () => 'a map',
  json: () => 'any value of JSON',
  schema: () => 'a JSON Schema',
};

export function typeHint(shape: Shape, value: unknown): string | undefined {
  if (value === null) return 'give it a value or remove the key';
  if (shape.is === 'text' && shape.example) return `such as ${shape.example}`;
  if (typeof value === 'object') return undefined;
  if (shape.is === 'list') return listHint(shape, String(value).slice(0, 100));
  if (shape.is === 'flag') return FLAG_WORDS[String(value).toLowerCase()];
  if (shape.is === 'number' && /^\d+$/.test(String(value))) return `without quotes: ${value}`;
  if (shape.is === 'text' || shape.is === 'shorthand') return `in quotes: '${value}'`;
  return undefined;
}

/** One entry; of a command, its words. What only a shell understands is not taken apart here. */
function listHint({ words }: ListShape, text: string): string {
  if (!words) return `[${flowText(text)}]`;
  if (/["'`$|&;<>()*?\\~]/.test(text))
    return `[sh, -c, ${quoteSingly(text)}], since no shell reads it otherwise`;
  return `[${text.trim().split(/\s+/).map(flowText).join(', ')}]`;
}

/** As it would be written in a list between brackets. */
const flowText = (text: string): string =>
  /^[A-Za-z0-9_./+^-][A-Za-z0-9_./+^$*?-]*$/.test(text) && !/^(-|true|false|null|[-+.\d_]+)$/.test(text)
    ? text
    : quoteSingly(text);

const quoteSingly = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const FLAG_WORDS: { readonly [word: string]: string } = {
  yes: 'true',
  on: 'true',
  1: 'true',
  true: 'true, without quotes',
  no: 'false',
  off: 'false',
  0: 'false',
  false: 'false, without quotes',
};
