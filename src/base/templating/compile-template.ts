// Owns: templates in the language of Jinja2: compiled once, filled in as often as needed.
// Refuses: files, clocks, chance, code, and unbounded work: the same values give the same text, or the same fault.
//
// What is not there of Jinja2: include, import, extends, block, call, recursive loops, autoescape, and the filters forceescape,
// filesizeformat, pprint, random, urlize, wordwrap and xmlattr. A dict's own key comes before a method unless it is called.
import type { Callable, Given, TemplateLimits } from './callables.ts';
import { createBudget, made, textFor, USUAL_LIMITS } from './callables.ts';
import type { Evaluation, Scope } from './evaluate.ts';
import { checkName, evaluate, evaluateArguments, find, siteAt } from './evaluate.ts';
import { parse } from './parse.ts';
import type { Statement, Target } from './syntax.ts';
import { isTemplateFault, templateFault } from './template-fault.ts';
import { equals, fieldsOf, isList, isTrue, itemsOf, namespaceOf, tupleOf, type Value } from './values.ts';

export interface Template {
  /** The values are JSON. Throws a `TemplateFault`. */
  render(context: { readonly [name: string]: unknown }, limits?: Partial<TemplateLimits>): string;
}

const MAX_SOURCE = 256 * 1024;

/** Throws a `TemplateFault` where it cannot be understood, or names a filter or test that there is not. */
export function compileTemplate(source: string): Template {
  if (source.length > MAX_SOURCE) throw templateFault(`a template has at most ${MAX_SOURCE} characters`, 1);
  // Most texts are no templates at all.
  if (!/\{[{%#]/.test(source)) {
    const text = source.replaceAll(/\r\n|\r/g, '\n').replace(/\n$/, '');
    return { render: () => text };
  }
  const body = parse(source);
  checkNames(body);
  return {
    render(context, limits = {}) {
      const all = { ...USUAL_LIMITS, ...limits };
      const output = createOutput(all);
      const globals: Scope = { names: new Map<string, unknown>(GLOBALS) };
      const given: Scope = { names: new Map<string, unknown>(Object.entries(context)), outer: globals };
      try {
        run(body, { names: new Map(), outer: given }, { budget: createBudget(all), depth: 0 }, output);
        return output.text();
      } catch (thrown) {
        if (isTemplateFault(thrown)) throw thrown;
        // Values can be nested more deeply than a stack is.
        if (thrown instanceof RangeError) throw templateFault('values are nested too deeply', 1);
        throw thrown;
      }
    },
  };
}

/** Throws a `TemplateFault` for the first that is not known. */
function checkNames(part: unknown): void {
  if (Array.isArray(part)) {
    for (const one of part) checkNames(one);
    return;
  }
  if (typeof part !== 'object' || part === null || part instanceof Map) return;
  const node = part as { kind?: unknown; name?: unknown; line?: unknown; filters?: unknown };
  const line = Number(node.line ?? 1);
  if ((node.kind === 'filter' || node.kind === 'test') && typeof node.name === 'string')
    checkName(node.kind, node.name, line);
  if (Array.isArray(node.filters)) for (const { name } of node.filters) checkName('filter', name, line);
  for (const [key, value] of Object.entries(node)) if (key !== 'value' || isNode(value)) checkNames(value);
}

const isNode = (value: unknown): boolean => typeof value === 'object' && value !== null && 'kind' in value;

const MAX_MACRO_DEPTH = 20;

/** Where text goes. */
interface Output {
  write(text: string, line: number): void;
}

function createOutput({ maxOutput }: Pick<TemplateLimits, 'maxOutput'>): Output & { text(): string } {
  const parts: string[] = [];
  let size = 0;
  return {
    write(text, line) {
      size += text.length;
      if (size > maxOutput) throw templateFault(`the result is longer than ${maxOutput} characters`, line);
      parts.push(text);
    },
    text: () => parts.join(''),
  };
}

function run(body: readonly Statement[], scope: Scope, evaluation: Evaluation, output: Output): void {
  for (const statement of body) {
    evaluation.budget.step(statement.line);
    (RULES[statement.kind] as Rule<Statement['kind']>)(statement as never, scope, evaluation, output);
  }
}

type Of<K extends Statement['kind']> = Extract<Statement, { readonly kind: K }>;
type Rule<K extends Statement['kind']> = (
  node: Of<K>,
  scope: Scope,
  evaluation: Evaluation,
  output: Output,
) => void;

const inner = (outer: Scope, names: Iterable<readonly [string, Value]> = []): Scope => ({
  names: new Map(names),
  outer,
});

/** The text of a body by itself; it counts as something that was made. */
function captured(body: readonly Statement[], scope: Scope, evaluation: Evaluation): string {
  const parts: string[] = [];
  run(body, scope, evaluation, {
    write(text, line) {
      evaluation.budget.make(text.length, line);
      parts.push(text);
    },
  });
  return parts.join('');
}

function assign(target: Target, value: Value, scope: Scope, line: number): void {
  if ('namespace' in target) {
    const fields = fieldsOf(find(scope, target.namespace));
    if (!fields) throw templateFault(`"${target.namespace}" is no namespace`, line);
    fields.set(target.field, value);
    return;
  }
  if (!target.several) {
    scope.names.set(target.names[0] as string, value);
    return;
  }
  const items = itemsOf(value);
  if (!items || items.length !== target.names.length)
    throw templateFault(`${target.names.length} values are expected for ${target.names.join(', ')}`, line);
  target.names.forEach((name, i) => {
    scope.names.set(name, items[i]);
  });
}

const forLoop: Rule<'for'> = (node, scope, evaluation, output) => {
  const { target, over, filter, body, otherwise, line } = node;
  const value = evaluate(over, scope, evaluation);
  let items = itemsOf(value);
  if (!items) throw templateFault('this cannot be gone through', line);
  evaluation.budget.make(items.length, line);
  if (filter) {
    items = items.filter((item) => {
      const own = inner(scope);
      assign(target, item, own, line);
      return isTrue(evaluate(filter, own, evaluation));
    });
  }
  if (items.length === 0) return run(otherwise, inner(scope), evaluation, output);
  const all = items;
  let last: readonly Value[] | undefined;
  all.forEach((item, i) => {
    const changed: Callable = ({ positional }) => {
      const same = last !== undefined && equals(tupleOf(last), tupleOf(positional));
      last = positional;
      return !same;
    };
    const cycle: Callable = ({ positional }) => positional[i % positional.length];
    const loop = namespaceOf(
      new Map<string, Value>([
        ['index', i + 1],
        ['index0', i],
        ['revindex', all.length - i],
        ['revindex0', all.length - i - 1],
        ['first', i === 0],
        ['last', i === all.length - 1],
        ['length', all.length],
        ['previtem', all[i - 1]],
        ['nextitem', all[i + 1]],
        ['depth', 1],
        ['depth0', 0],
        ['changed', changed],
        ['cycle', cycle],
      ]),
    );
    const own = inner(scope, [['loop', loop]]);
    assign(target, item, own, line);
    run(body, own, evaluation, output);
  });
};

const macro: Rule<'macro'> = ({ name, parameters, body, line }, scope, evaluation) => {
  const callable: Callable = ({ positional, named }: Given, site) => {
    if (positional.length > parameters.length)
      throw templateFault(`"${name}" takes at most ${parameters.length} arguments`, site.line);
    for (const key of named.keys())
      if (!parameters.some((parameter) => parameter.name === key))
        throw templateFault(`"${name}" has no argument "${key}"`, site.line);
    if (++evaluation.depth > MAX_MACRO_DEPTH) throw templateFault('macros call each other too deeply', line);
    const own = inner(scope);
    parameters.forEach(({ name: parameter, fallback }, i) => {
      const given = i < positional.length ? positional[i] : named.get(parameter);
      own.names.set(parameter, given === undefined && fallback ? evaluate(fallback, own, evaluation) : given);
    });
    try {
      return captured(body, own, evaluation);
    } finally {
      evaluation.depth--;
    }
  };
  scope.names.set(name, callable);
};

function filtered(
  text: Value,
  filters: Of<'filter_block'>['filters'],
  scope: Scope,
  evaluation: Evaluation,
  line: number,
): Value {
  const site = siteAt(line, evaluation);
  return filters.reduce(
    (value, { name, args }) => site.filter(name, value, evaluateArguments(args, scope, evaluation)),
    text,
  );
}

const RULES: { readonly [K in Statement['kind']]: Rule<K> } = {
  text: ({ text, line }, _scope, _evaluation, output) => output.write(text, line),
  print: ({ value, line }, scope, evaluation, output) =>
    output.write(textFor(evaluate(value, scope, evaluation), siteAt(line, evaluation)), line),
  if({ branches, otherwise }, scope, evaluation, output) {
    const found = branches.find(({ test }) => isTrue(evaluate(test, scope, evaluation)));
    run(found ? found.body : otherwise, scope, evaluation, output);
  },
  for: forLoop,
  set: ({ target, value, line }, scope, evaluation) =>
    assign(target, evaluate(value, scope, evaluation), scope, line),
  set_block({ target, filters, body, line }, scope, evaluation) {
    const text = captured(body, inner(scope), evaluation);
    assign(target, filtered(text, filters, scope, evaluation, line), scope, line);
  },
  with({ values, body }, scope, evaluation, output) {
    const own = inner(scope);
    for (const [name, value] of values) own.names.set(name, evaluate(value, own, evaluation));
    run(body, own, evaluation, output);
  },
  filter_block({ filters, body, line }, scope, evaluation, output) {
    const text = captured(body, inner(scope), evaluation);
    const site = siteAt(line, evaluation);
    output.write(textFor(filtered(text, filters, scope, evaluation, line), site), line);
  },
  macro,
};

/** The functions that every template has. */
const GLOBALS: ReadonlyMap<string, Callable> = new Map<string, Callable>([
  [
    'range',
    ({ positional }, site) => {
      const [a = 0, b, step = 1] = positional.map((one) => Number(one));
      const [from, to] = b === undefined ? [0, a] : [a, b];
      if (![from, to, step].every(Number.isSafeInteger) || step === 0)
        throw templateFault('"range" needs whole numbers, and steps that are not 0', site.line);
      const count = Math.max(0, Math.ceil((to - from) / step));
      site.budget.make(count * 8, site.line);
      return made(
        Array.from({ length: count }, (_, i) => from + i * step),
        site,
      );
    },
  ],
  [
    'dict',
    ({ positional, named }, site) => {
      const given = positional[0];
      const pairs = itemsOf(given) && isList(given) ? given.map((one) => itemsOf(one) ?? []) : [];
      const start =
        given instanceof Map ? [...given] : isList(given) ? pairs : Object.entries((given as object) ?? {});
      const entries = [...start, ...named] as [Value, Value][];
      return made(new Map(entries), site);
    },
  ],
  ['namespace', ({ named }) => namespaceOf(new Map(named))],
]);
