// Owns: templates in the language of Jinja2: compiled once, filled in as often as needed.
// Refuses: files, clocks, chance, code, and unbounded work: the same values give the same text, or the same fault.
//
// What is not there of Jinja2: include, import, extends, block, call, recursive loops, autoescape, and the filters forceescape,
// filesizeformat, pprint, random, urlize, wordwrap and xmlattr. A dict's own key comes before a method unless it is called.
import { createBudget, type TemplateLimits, USUAL_LIMITS } from './budget.ts';
import { checkNames } from './check-names.ts';
import type { Scope } from './evaluate.ts';
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
