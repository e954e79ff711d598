// Owns: templates in the language of Jinja2: compiled once, filled in as often as needed.
// Refuses: files, clocks, chance, code, and unbounded work: the same values give the same text, or the same fault.
//
// What is not there of Jinja2: include, import, extends, block, call, recursive loops, autoescape, and the filters forceescape,
// filesizeformat, pprint, random, urlize, wordwrap and xmlattr. A dict's own key comes before a method unless it is called.
import { createBudget, type TemplateLimits, USUAL_LIMITS } from './callables.ts';
import { checkName, type Scope } from './evaluate.ts';
import { parse } from './parse.ts';
import { createOutput, GLOBALS, run } from './render.ts';
import { isTemplateFault, templateFault } from './template-fault.ts';

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
