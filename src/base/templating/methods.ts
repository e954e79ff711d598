// Owns: the tests of Jinja2 (`x is defined`), and the methods of Python's texts, lists and dicts that only look, never change.
// Refuses: every other name: there is no way from a value to anything that it does not hold.
import { bind, type Callable, type Given, integerFor, listFor, made, type Site } from './callables.ts';
import { templateFault } from './template-fault.ts';
import { capitalize, joinedText, padded, replaced, strip } from './text-filters.ts';
import {
  compare,
  entriesOf,
  equals,
  hasKey,
  isDict,
  isList,
  itemsOf,
  lookUp,
  numberOf,
  textOf,
  tupleOf,
  type Value,
} from './values.ts';

/** The method of this name, bound to its value; undefined where it has none. */
export function methodOf(value: Value, name: string): Callable | undefined {
  const table = typeof value === 'string' ? TEXT : isList(value) ? LIST : isDict(value) ? DICT : undefined;
  const method = table?.get(name) as ((value: never, given: Given, site: Site) => Value) | undefined;
  return method && ((given, site) => method(value as never, given, site));
}

type TextMethod = (text: string, given: Given, site: Site) => Value;

const simple =
  (change: (text: string) => Value): TextMethod =>
  (text, given, site) => {
    bind('this method', [], given, site.line);
    return made(change(text), site);
  };

const stripping =
  (left: boolean, right: boolean): TextMethod =>
  (text, given, site) => {
    const [chars] = bind('strip', ['chars'], given, site.line);
    return made(
      strip(text, chars === undefined || chars === null ? undefined : textOf(chars), left, right),
      site,
    );
  };

const matching =
  (matches: (text: string, part: string) => boolean): TextMethod =>
  (text, given, site) => {
    const [part] = bind('this method', ['part'], given, site.line);
    return isList(part) ? part.some((one) => matches(text, textOf(one))) : matches(text, textOf(part));
  };

const finding =
  (find: (text: string, part: string) => number, required: boolean): TextMethod =>
  (text, given, site) => {
    const at = find(text, textOf(bind('this method', ['part'], given, site.line)[0]));
    if (required && at === -1) throw templateFault('the text does not hold what is looked for', site.line);
    return at;
  };

const padding =
  (where: 'left' | 'right' | 'center'): TextMethod =>
  (text, given, site) => {
    const [width, fill] = bind('this method', ['width', 'fill'], given, site.line);
    const by = fill === undefined ? ' ' : textOf(fill);
    if ([...by].length !== 1) throw templateFault('texts are filled with one character', site.line);
    return padded(text, integerFor('this method', width, 0, site), where, by, site);
  };

const split =
  (fromRight: boolean): TextMethod =>
  (text, given, site) => {
    const [sep, most] = bind('split', ['sep', 'maxsplit'], given, site.line);
    const limit = integerFor('split', most, -1, site);
    site.budget.make(text.length, site.line);
    const at = sep === undefined || sep === null ? undefined : textOf(sep);
    if (at === '') throw templateFault('a text is not split at nothing', site.line);
    const parts = at === undefined ? text.split(/\s+/).filter((part) => part !== '') : text.split(at);
    if (limit < 0 || parts.length <= limit + 1) return made(parts, site);
    if (at === undefined) return made(splitSpaces(text, limit, fromRight), site);
    const cut = fromRight ? parts.length - limit : limit;
    const head = fromRight ? [parts.slice(0, cut).join(at)] : parts.slice(0, cut);
    const tail = fromRight ? parts.slice(cut) : [parts.slice(cut).join(at)];
    return made([...head, ...tail], site);
  };

function splitSpaces(text: string, limit: number, fromRight: boolean): string[] {
  const parts: string[] = [];
  let rest = fromRight ? text.trimEnd() : text.trimStart();
  while (parts.length < limit) {
    const found = fromRight ? /^([\s\S]*\S)\s+(\S+)$/.exec(rest) : /^(\S+)\s+([\s\S]*)$/.exec(rest);
    if (!found) break;
    parts[fromRight ? 'unshift' : 'push'](found[fromRight ? 2 : 1] as string);
    rest = found[fromRight ? 1 : 2] as string;
  }
  return fromRight ? [rest, ...parts] : [...parts, rest];
}

const partition =
  (fromRight: boolean): TextMethod =>
  (text, given, site) => {
    const sep = textOf(bind('partition', ['sep'], given, site.line)[0]);
    const at = fromRight ? text.lastIndexOf(sep) : text.indexOf(sep);
    if (at === -1 || sep === '') return made(tupleOf(fromRight ? ['', '', text] : [text, '', '']), site);
    return made(tupleOf([text.slice(0, at), sep, text.slice(at + sep.length)]), site);
  };

const TEXT: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ['upper', simple((text) => text.toUpperCase())],
  ['lower', simple((text) => text.toLowerCase())],
  ['casefold', simple((text) => text.toLowerCase())],
  ['capitalize', simple(capitalize)],
  ['title', simple((text) => text.replaceAll(/\p{L}+/gu, capitalize))],
  [
    'swapcase',
    simple((text) => [...text].map((c) => (isUpper(c) ? c.toLowerCase() : c.toUpperCase())).join('')),
  ],
  ['strip', stripping(true, true)],
  ['lstrip', stripping(true, false)],
  ['rstrip', stripping(false, true)],
  ['split', split(false)],
  ['rsplit', split(true)],
  [
    'splitlines',
    simple((text) =>
      text
        .replace(/\n$/, '')
        .split('\n')
        .filter((_, __, all) => all.length > 1 || all[0] !== ''),
    ),
  ],
  ['partition', partition(false)],
  ['rpartition', partition(true)],
  [
    'replace',
    (text, given, site) => {
      const [old, by, count] = bind('replace', ['old', 'new', 'count'], given, site.line);
      return replaced(text, textOf(old), textOf(by), integerFor('replace', count, -1, site), site);
    },
  ],
  [
    'removeprefix',
    (text, given, site) => {
      const part = textOf(bind('removeprefix', ['prefix'], given, site.line)[0]);
      return text.startsWith(part) ? text.slice(part.length) : text;
    },
  ],
  [
    'removesuffix',
    (text, given, site) => {
      const part = textOf(bind('removesuffix', ['suffix'], given, site.line)[0]);
      return part !== '' && text.endsWith(part) ? text.slice(0, -part.length) : text;
    },
  ],
  ['startswith', matching((text, part) => text.startsWith(part))],
  ['endswith', matching((text, part) => text.endsWith(part))],
  ['find', finding((text, part) => text.indexOf(part), false)],
  ['rfind', finding((text, part) => text.lastIndexOf(part), false)],
  ['index', finding((text, part) => text.indexOf(part), true)],
  ['count', finding((text, part) => (part === '' ? text.length + 1 : text.split(part).length - 1), false)],
  [
    'join',
    (text, given, site) => {
      const items = listFor('join', bind('join', ['items'], given, site.line)[0], site);
      return joinedText(items, text, site);
    },
  ],
  ['ljust', padding('left')],
  ['rjust', padding('right')],
  ['center', padding('center')],
  [
    'zfill',
    (text, given, site) => {
      const width = integerFor('zfill', bind('zfill', ['width'], given, site.line)[0], 0, site);
      const sign = /^[+-]/.exec(text)?.[0] ?? '';
      return sign + padded(text.slice(sign.length), width - sign.length, 'right', '0', site);
    },
  ],
  ['isdigit', simple((text) => /^\p{Nd}+$/u.test(text))],
  ['isnumeric', simple((text) => /^\p{N}+$/u.test(text))],
  ['isalpha', simple((text) => /^\p{L}+$/u.test(text))],
  ['isalnum', simple((text) => /^[\p{L}\p{N}]+$/u.test(text))],
  ['isspace', simple((text) => /^\s+$/.test(text))],
  ['islower', simple(isLower)],
  ['isupper', simple(isUpper)],
]);

type ListMethod = (list: readonly Value[], given: Given, site: Site) => Value;

const LIST: ReadonlyMap<string, ListMethod> = new Map<string, ListMethod>([
  [
    'count',
    (list, given, site) => {
      const [item] = bind('count', ['item'], given, site.line);
      site.budget.make(list.length, site.line);
      return list.filter((one) => equals(one, item)).length;
    },
  ],
  [
    'index',
    (list, given, site) => {
      const [item] = bind('index', ['item'], given, site.line);
      site.budget.make(list.length, site.line);
      const at = list.findIndex((one) => equals(one, item));
      if (at === -1) throw templateFault('the list does not hold what is looked for', site.line);
      return at;
    },
  ],
]);

type DictMethod = (dict: Value, given: Given, site: Site) => Value;

const listing =
  (part: (entry: readonly [Value, Value]) => Value): DictMethod =>
  (dict, given, site) => {
    bind('this method', [], given, site.line);
    return made(entriesOf(dict).map(part), site);
  };

const DICT: ReadonlyMap<string, DictMethod> = new Map<string, DictMethod>([
  ['items', listing(tupleOf)],
  ['keys', listing(([key]) => key)],
  ['values', listing(([, value]) => value)],
  [
    'get',
    (dict, given, site) => {
      const [key, otherwise] = bind('get', ['key', 'default'], given, site.line);
      return hasKey(dict, key) ? lookUp(dict, key) : (otherwise ?? null);
    },
  ],
]);

type Test = (value: Value, given: Given, site: Site) => boolean;

const alone =
  (test: (value: Value) => boolean): Test =>
  (value, given, site) => {
    bind('this test', [], given, site.line);
    return test(value);
  };

const against =
  (test: (value: Value, other: Value, site: Site) => boolean): Test =>
  (value, given, site) =>
    test(value, bind('this test', ['other'], given, site.line)[0], site);

const order = (holds: (order: number) => boolean) =>
  against((value, other, site) => {
    const result = compare(value, other);
    if (result === undefined) throw templateFault('what is compared cannot be compared', site.line);
    return holds(result);
  });

const isFloat = (value: Value): boolean => typeof value !== 'boolean' && numberOf(value)?.float === true;
const isInteger = (value: Value): boolean => typeof value !== 'boolean' && numberOf(value)?.float === false;
const remainder = (value: Value, by: number): number => {
  const n = numberOf(value)?.n ?? Number.NaN;
  return ((n % by) + by) % by;
};

/** `in`: of a text its parts, of a dict its keys, of a list its items. */
export function contains(whole: Value, part: Value, line: number): boolean {
  if (typeof whole === 'string') {
    if (typeof part !== 'string') throw templateFault('only a text can be in a text', line);
    return whole.includes(part);
  }
  if (isDict(whole)) return hasKey(whole, part);
  const items = itemsOf(whole);
  if (!items) throw templateFault('nothing can be in this', line);
  return items.some((item) => equals(item, part));
}

const eq = against((value, other) => equals(value, other));
const ne = against((value, other) => !equals(value, other));
const lt = order((one) => one < 0);
const le = order((one) => one <= 0);
const gt = order((one) => one > 0);
const ge = order((one) => one >= 0);

export const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ['defined', alone((value) => value !== undefined)],
  ['undefined', alone((value) => value === undefined)],
  ['none', alone((value) => value === null)],
  ['boolean', alone((value) => typeof value === 'boolean')],
  ['true', alone((value) => value === true)],
  ['false', alone((value) => value === false)],
  ['integer', alone(isInteger)],
  ['float', alone(isFloat)],
  ['number', alone((value) => numberOf(value) !== undefined)],
  ['string', alone((value) => typeof value === 'string')],
  ['mapping', alone(isDict)],
  ['iterable', alone((value) => itemsOf(value) !== undefined)],
  ['sequence', alone((value) => typeof value === 'string' || isList(value) || isDict(value))],
  ['callable', alone((value) => typeof value === 'function')],
  ['lower', alone((value) => isLower(textOf(value)))],
  ['upper', alone((value) => isUpper(textOf(value)))],
  ['even', alone((value) => remainder(value, 2) === 0)],
  ['odd', alone((value) => remainder(value, 2) === 1)],
  ['divisibleby', against((value, other) => remainder(value, numberOf(other)?.n ?? 0) === 0)],
  ['in', against((value, other, site) => contains(other, value, site.line))],
  ['sameas', against((value, other) => Object.is(value, other))],
  ['eq', eq],
  ['equalto', eq],
  ['==', eq],
  ['ne', ne],
  ['!=', ne],
  ['lt', lt],
  ['lessthan', lt],
  ['<', lt],
  ['le', le],
  ['<=', le],
  ['gt', gt],
  ['greaterthan', gt],
  ['>', gt],
  ['ge', ge],
  ['>=', ge],
]);

function isLower(text: string): boolean {
  return text === text.toLowerCase() && text !== text.toUpperCase();
}

function isUpper(text: string): boolean {
  return text === text.toUpperCase() && text !== text.toLowerCase();
}
