// Owns: the filters of Jinja2 that choose, order, count and compute.
// Refuses: chance (`random`).
import { bind, type Given, integerFor, lengthFor, listFor, made, type Site } from './callables.ts';
import { templateFault } from './template-fault.ts';
import { at, type Filter } from './text-filters.ts';
import {
  compare,
  entriesOf,
  equals,
  floatOf,
  isDict,
  isList,
  isTrue,
  namedTupleOf,
  numberOf,
  tupleOf,
  type Value,
} from './values.ts';

/** `attribute` and the like: the part of an item that counts, with case ignored for texts unless told otherwise. */
function keyFor(attribute: Value, caseSensitive: Value): (item: Value) => Value {
  return (item) => {
    const part = attribute === undefined || attribute === null ? item : at(item, attribute);
    return typeof part === 'string' && !isTrue(caseSensitive) ? part.toLowerCase() : part;
  };
}

function ordered(
  items: readonly Value[],
  key: (item: Value) => Value,
  reverse: boolean,
  site: Site,
): Value[] {
  site.budget.make(items.length * Math.ceil(Math.log2(items.length + 2)) * 16, site.line);
  const sign = reverse ? -1 : 1;
  const keyed = items.map((item) => [key(item), item] as const);
  keyed.sort(([a], [b]) => {
    const order = compare(a, b);
    if (order === undefined) throw templateFault('what is sorted cannot be compared', site.line);
    return sign * order;
  });
  return keyed.map(([, item]) => item);
}

const sort: Filter = (value, given, site) => {
  const [reverse, caseSensitive, attribute] = bind(
    'sort',
    ['reverse', 'case_sensitive', 'attribute'],
    given,
    site.line,
  );
  const items = listFor('sort', value, site);
  if (typeof attribute === 'string' && attribute.includes(',')) {
    const keys = attribute.split(',').map((one) => keyFor(one.trim(), caseSensitive));
    return made(
      ordered(items, (item) => keys.map((key) => key(item)), isTrue(reverse), site),
      site,
    );
  }
  return made(ordered(items, keyFor(attribute, caseSensitive), isTrue(reverse), site), site);
};

const dictsort: Filter = (value, given, site) => {
  const [caseSensitive, by, reverse] = bind(
    'dictsort',
    ['case_sensitive', 'by', 'reverse'],
    given,
    site.line,
  );
  if (!isDict(value)) throw templateFault('"dictsort" needs a dict', site.line);
  const entries = entriesOf(value).map(tupleOf);
  return made(ordered(entries, keyFor(by === 'value' ? 1 : 0, caseSensitive), isTrue(reverse), site), site);
};

const unique: Filter = (value, given, site) => {
  const [caseSensitive, attribute] = bind('unique', ['case_sensitive', 'attribute'], given, site.line);
  const key = keyFor(attribute, caseSensitive);
  const seen: Value[] = [];
  return made(
    listFor('unique', value, site).filter((item) => {
      site.budget.make(seen.length * 16, site.line);
      const one = key(item);
      if (seen.some((other) => equals(one, other))) return false;
      seen.push(one);
      return true;
    }),
    site,
  );
};

const extreme =
  (sign: number): Filter =>
  (value, given, site) => {
    const [caseSensitive, attribute] = bind('max and min', ['case_sensitive', 'attribute'], given, site.line);
    const key = keyFor(attribute, caseSensitive);
    let best: Value;
    for (const [i, item] of listFor('max and min', value, site).entries()) {
      const order = i === 0 ? 1 : compare(key(item), key(best));
      if (order === undefined) throw templateFault('what is compared cannot be compared', site.line);
      if (i === 0 || sign * order > 0) best = item;
    }
    return best;
  };

const sum: Filter = (value, given, site) => {
  const [attribute, start] = bind('sum', ['attribute', 'start'], given, site.line);
  let total = numberOf(start ?? 0) ?? { n: 0, float: false };
  for (const item of listFor('sum', value, site)) {
    const one = numberOf(attribute === undefined || attribute === null ? item : at(item, attribute));
    if (!one) throw templateFault('"sum" needs numbers', site.line);
    total = { n: total.n + one.n, float: total.float || one.float };
  }
  return total.float ? floatOf(total.n) : total.n;
};

/** `map`, `select` and their kin: an attribute, or the name of a filter or test with its arguments. */
const map: Filter = (value, given, site) => {
  const attribute = given.named.get('attribute');
  const fallback = given.named.get('default');
  const items = listFor('map', value, site);
  if (attribute !== undefined)
    return made(
      items.map((item) => at(item, attribute) ?? fallback),
      site,
    );
  const [name, ...positional] = given.positional;
  if (typeof name !== 'string')
    throw templateFault('"map" needs the name of a filter or an attribute', site.line);
  return made(
    items.map((item) => site.filter(name, item, { positional, named: given.named })),
    site,
  );
};

const select =
  (wanted: boolean, withAttribute: boolean): Filter =>
  (value, { positional, named }, site) => {
    const [attribute, rest] = withAttribute ? [positional[0], positional.slice(1)] : [undefined, positional];
    const [name, ...args] = rest;
    const passes = (item: Value): boolean => {
      const part = withAttribute ? at(item, attribute) : item;
      return name === undefined ? isTrue(part) : site.test(String(name), part, { positional: args, named });
    };
    return made(
      listFor('select', value, site).filter((item) => passes(item) === wanted),
      site,
    );
  };

const batch: Filter = (value, given, site) => {
  const [size, fill] = bind('batch', ['linecount', 'fill_with'], given, site.line);
  const most = Math.max(1, integerFor('batch', size, 1, site));
  const items = listFor('batch', value, site);
  const out: Value[][] = [];
  for (let i = 0; i < items.length; i += most) out.push(items.slice(i, i + most));
  const last = out.at(-1);
  if (last && fill !== undefined && fill !== null) {
    site.budget.make(most, site.line);
    while (last.length < most) last.push(fill);
  }
  return made(out, site);
};

const slice: Filter = (value, given, site) => {
  const [count, fill] = bind('slice', ['slices', 'fill_with'], given, site.line);
  const columns = Math.max(1, integerFor('slice', count, 1, site));
  const items = listFor('slice', value, site);
  site.budget.make(columns, site.line);
  const each = Math.floor(items.length / columns);
  const longer = items.length % columns;
  let from = 0;
  return made(
    Array.from({ length: columns }, (_, i) => {
      const column = items.slice(from, from + each + (i < longer ? 1 : 0));
      from += column.length;
      return fill !== undefined && fill !== null && i >= longer && longer > 0 ? [...column, fill] : column;
    }),
    site,
  );
};

const groupby: Filter = (value, given, site) => {
  const [attribute, fallback, caseSensitive] = bind(
    'groupby',
    ['attribute', 'default', 'case_sensitive'],
    given,
    site.line,
  );
  const of = (item: Value) => at(item, attribute) ?? fallback;
  const key = (item: Value) => keyFor(undefined, caseSensitive)(of(item));
  const groups: { key: Value; grouper: Value; items: Value[] }[] = [];
  for (const item of ordered(listFor('groupby', value, site), key, false, site)) {
    const last = groups.at(-1);
    if (last && equals(last.key, key(item))) last.items.push(item);
    else groups.push({ key: key(item), grouper: of(item), items: [item] });
  }
  return made(
    groups.map(({ grouper, items: list }) => namedTupleOf({ grouper, list })),
    site,
  );
};

const fallback: Filter = (value, given, site) => {
  const [instead, alsoFalse] = bind('default', ['default_value', 'boolean'], given, site.line);
  const missing = value === undefined || (isTrue(alsoFalse) && !isTrue(value));
  return missing ? (instead ?? '') : value;
};

const round: Filter = (value, given, site) => {
  const [precision, method] = bind('round', ['precision', 'method'], given, site.line);
  const number = numberOf(value);
  if (!number) throw templateFault('"round" needs a number', site.line);
  const scale = 10 ** integerFor('round', precision, 0, site);
  const scaled = number.n * scale;
  const way =
    method === 'ceil' ? Math.ceil(scaled) : method === 'floor' ? Math.floor(scaled) : halfToEven(scaled);
  return number.float ? floatOf(way / scale) : way / scale;
};

function halfToEven(n: number): number {
  const below = Math.floor(n);
  const rest = n - below;
  if (rest !== 0.5) return Math.round(n);
  return below % 2 === 0 ? below : below + 1;
}

const integer: Filter = (value, given, site) => {
  const [otherwise, base] = bind('int', ['default', 'base'], given, site.line);
  const number = numberOf(value);
  if (number) return Number.isFinite(number.n) ? Math.trunc(number.n) : (otherwise ?? 0);
  const text = typeof value === 'string' ? value.trim() : '';
  const radix = integerFor('int', base, 10, site);
  if (radix === 10 && /^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$/.test(text)) return Math.trunc(Number(text));
  const digits = text.replace(/^([+-]?)0[xob]/i, '$1');
  const valid =
    radix === 16
      ? /^[+-]?[0-9a-f]+$/i
      : radix === 8
        ? /^[+-]?[0-7]+$/
        : radix === 2
          ? /^[+-]?[01]+$/
          : /(?!)/;
  return valid.test(digits) ? Number.parseInt(digits, radix) : (otherwise ?? 0);
};

const float: Filter = (value, given, site) => {
  const [otherwise] = bind('float', ['default'], given, site.line);
  const number = numberOf(value);
  if (number) return floatOf(number.n);
  const text = typeof value === 'string' ? value.trim() : '';
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)
    ? floatOf(Number(text))
    : (otherwise ?? floatOf(0));
};

const plain =
  (change: (value: Value, site: Site) => Value): Filter =>
  (value, given: Given, site) => {
    bind('this filter', [], given, site.line);
    return change(value, site);
  };

function items(value: Value, site: Site): Value {
  if (value === undefined) return [];
  if (!isDict(value)) throw templateFault('"items" needs a dict', site.line);
  return made(entriesOf(value).map(tupleOf), site);
}

function absolute(value: Value, site: Site): Value {
  const number = numberOf(value);
  if (!number) throw templateFault('"abs" needs a number', site.line);
  return number.float ? floatOf(Math.abs(number.n)) : Math.abs(number.n);
}

const reverse = (value: Value, site: Site): Value =>
  typeof value === 'string'
    ? made([...value].reverse().join(''), site)
    : made([...listFor('reverse', value, site)].reverse(), site);

export const LIST_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['abs', plain(absolute)],
  ['attr', (value, given, site) => at(value, bind('attr', ['name'], given, site.line)[0])],
  ['batch', batch],
  ['count', plain(lengthFor)],
  ['d', fallback],
  ['default', fallback],
  ['dictsort', dictsort],
  ['first', plain((value, site) => listFor('first', value, site)[0])],
  ['float', float],
  ['groupby', groupby],
  ['int', integer],
  ['items', plain(items)],
  ['last', plain((value, site) => listFor('last', value, site).at(-1))],
  ['length', plain(lengthFor)],
  [
    'list',
    plain((value, site) =>
      isList(value) && !Object.isFrozen(value) ? value : made([...listFor('list', value, site)], site),
    ),
  ],
  ['map', map],
  ['max', extreme(1)],
  ['min', extreme(-1)],
  ['reject', select(false, false)],
  ['rejectattr', select(false, true)],
  ['reverse', plain(reverse)],
  ['round', round],
  ['select', select(true, false)],
  ['selectattr', select(true, true)],
  ['slice', slice],
  ['sort', sort],
  ['sum', sum],
  ['unique', unique],
]);
