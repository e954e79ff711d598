// Owns: templates against what Jinja2 itself made of them, and against those who would use them up.
// Refuses: time: that a bomb is contained shows in how it ended.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { compileTemplate } from './compile-template.ts';
import { isTemplateFault } from './template-fault.ts';

/** Made with Jinja2 3.1.6, in its sandboxed environment with its usual settings. */
const { context, renders, fails } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'jinja2-cases.json'), 'utf8'),
) as { context: Record<string, unknown>; renders: [string, string][]; fails: string[] };

const render = (source: string, values: Record<string, unknown> = context) =>
  compileTemplate(source).render(values);

describe('compileTemplate', () => {
  for (const [source, text] of renders)
    it(`makes of ${JSON.stringify(source).slice(0, 90)} what Jinja2 makes`, () =>
      assert.equal(render(source), text));

  for (const source of fails)
    it(`refuses ${JSON.stringify(source)}, as Jinja2 does`, () =>
      assert.throws(() => render(source), isTemplateFault));

  it('says what is wrong, and in which line', () => {
    const FAULTS: readonly (readonly [source: string, message: RegExp, line: number])[] = [
      ['a\n{{ input.missing.x }}', /"input.missing" is undefined/, 2],
      ['{{ x|uper }}', /no filter "uper"; did you mean "upper"\?/, 1],
      ['{{ x is define }}', /no test "define"; did you mean "defined"\?/, 1],
      ['\n\n{% include "x" %}', /"include" would need another template/, 3],
      ['{% if true %}\n', /the end comes before "endif"/, 1],
      ['{{ "a" if }}', /"}}" is not expected here/, 1],
      ['{% set ns.x = 1 %}', /"ns" is no namespace/, 1],
      ['{{ f(1) }}', /"f" cannot be called/, 1],
    ];
    for (const [source, message, line] of FAULTS)
      assert.throws(
        () => render(source, { input: {}, x: 'x' }),
        (thrown) => isTemplateFault(thrown) && message.test(thrown.message) && thrown.templateLine === line,
        source,
      );
  });

  it('finds filters and tests that there are not before it is filled in', () => {
    assert.throws(() => compileTemplate('{% if false %}{{ x|nope }}{% endif %}'), /no filter "nope"/);
    assert.throws(() => compileTemplate('{% filter nope %}{% endfilter %}'), /no filter "nope"/);
    assert.throws(() => compileTemplate('{% set x | nope %}{% endset %}'), /no filter "nope"/);
    assert.throws(() => compileTemplate('{{ x is nope }}'), /no test "nope"/);
  });

  it('gives the same text each time, and changes nothing that it was given', () => {
    const template = compileTemplate(
      '{% set x = input.list|sort %}{% set ns = namespace(n=0) %}{{ x }}{{ ns.n }}',
    );
    const values = { input: { list: [3, 1, 2] } };
    assert.equal(template.render(values), '[1, 2, 3]0');
    assert.equal(template.render(values), '[1, 2, 3]0');
    assert.deepEqual(values, { input: { list: [3, 1, 2] } });
  });

  it('leaves text without marks as it is, but for a line break at the end', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!/\{[{%#]|\r/.test(text));
        assert.equal(render(text), text.replace(/\n$/, ''));
      }),
    );
  });

  it('puts values in as they are: nothing in them is read as a template', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        assert.equal(render('[{{ v }}]', { v: `{{ 1 }}{% x ${value}` }), `[{{ 1 }}{% x ${value}]`);
      }),
    );
  });

  it('reaches nothing of JavaScript', () => {
    const names = [
      'constructor',
      '__proto__',
      'prototype',
      'toString',
      'hasOwnProperty',
      '__class__',
      'length',
    ];
    const values = { o: { a: 1 }, l: [1], s: 'x', n: 1 };
    for (const name of names)
      for (const value of ['o', 'l', 's', 'n', 'range', '(1, 2)', '{"a": 1}'])
        for (const expression of [
          `${value}.${name}`,
          `${value}["${name}"]`,
          `${value}|attr("${name}")`,
          `[${value}]|map(attribute="${name}")|first`,
        ]) {
          assert.equal(render(`{{ ${expression} }}`, values), '', expression);
          assert.throws(() => render(`{{ ${expression}("x") }}`, values), isTemplateFault, expression);
        }
    assert.equal(render('{{ constructor }}{{ globalThis }}{{ process }}{{ this }}', {}), '');
    const own = JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}');
    assert.equal(render('{{ o.__proto__.x }}{{ o.constructor }}', { o: own }), '12');
  });

  it('ends in a text or a fault, whatever the template is', () => {
    const part = fc.constantFrom(
      ...[
        '{{',
        '}}',
        '{%',
        '%}',
        '{#',
        '#}',
        '-',
        '+',
        ' ',
        '\n',
        '"',
        "'",
        '(',
        ')',
        '[',
        ']',
        '{',
        '}',
        '|',
        '.',
        ',',
        ':',
        '=',
        '~',
        '*',
        '**',
        '//',
      ],
      ...[
        'if',
        'else',
        'endif',
        'for',
        'in',
        'endfor',
        'set',
        'endset',
        'macro',
        'endmacro',
        'raw',
        'endraw',
        'filter',
        'endfilter',
        'with',
      ],
      ...[
        'is',
        'not',
        'and',
        'or',
        'defined',
        'upper',
        'join',
        'range',
        'input',
        'a',
        '1',
        '2.5',
        'true',
        'none',
        'loop',
        '\\',
      ],
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        try {
          assert.equal(typeof render(parts.join(' ')), 'string');
        } catch (thrown) {
          assert.ok(isTemplateFault(thrown), String(thrown));
        }
      }),
      { numRuns: 2000 },
    );
  });

  const times = (text: string, count: number) => text.repeat(count);
  const BOMBS: Readonly<Record<string, string>> = {
    'a long text': '{{ "a" * 1000000000 }}',
    'loops in loops': times('{% for a in range(1000) %}', 4) + times('{% endfor %}', 4),
    'a long range': '{{ range(1000000000)|length }}',
    'a text that doubles': `{% set a = "aaaaaaaa" %}${times('{% set a = a ~ a %}', 60)}`,
    'a list that doubles': `{% set a = [1] %}${times('{% set a = [a, a] %}', 60)}{{ a }}`,
    'comparing lists that double': `{% set a = [1] %}${times('{% set a = [a, a] %}', 16)}{% for i in range(9999) %}{{ a == a }}{% endfor %}`,
    'deep nesting of values':
      '{% set n = namespace(a=[]) %}{% for i in range(99999) %}{% set n.a = [n.a] %}{% endfor %}{{ n.a }}',
    'macros that call themselves': '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}',
    'macros that fan out':
      '{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(19) }}',
    'a replacement by itself': '{% set s = "a" * 99999 %}{{ s|replace("a", s) }}',
    'a long separator': '{% set s = "a" * 99999 %}{{ range(9999)|join(s) }}',
    'sorting again and again':
      '{% set l = range(9999)|list %}{% for i in range(9999) %}{% set x = l|sort %}{% endfor %}',
    'looking for what is not there':
      '{% set l = range(9999)|list %}{% for i in range(9999) %}{{ -1 in l }}{% endfor %}',
    'many long texts': '{% for i in range(9999) %}{% set x = "a" * 3000000 %}{% endfor %}',
    'a long result': `{% for i in range(20000) %}${times('x', 200)}{% endfor %}`,
    'a large power': '{{ 10 ** 10 ** 10 }}',
    'a wide column': '{{ "a"|center(999999999) }}',
    'many brackets': `{{ ${times('[', 5000)}${times(']', 5000)} }}`,
    'many signs': `{{ ${times('-', 5000)}1 }}`,
    'many nots': `{{ ${times('not ', 5000)}1 }}`,
    'many blocks': times('{% if 1 %}', 3000) + times('{% endif %}', 3000),
    'many attributes': `{{ a${times('.b', 20000)} }}`,
    'many filters': `{{ 1${times('|abs', 20000)} }}`,
    'many operators': `{{ 1${times('+1', 50000)} }}`,
    'a long template': times(' ', 300_000),
  };
  for (const [what, source] of Object.entries(BOMBS))
    it(`stops ${what}`, () => assert.throws(() => render(source), isTemplateFault));

  it('keeps to the limits that it is given', () => {
    const template = compileTemplate('{% for i in range(n) %}x{% endfor %}');
    assert.equal(template.render({ n: 50 }, { maxOutput: 50 }).length, 50);
    assert.throws(() => template.render({ n: 51 }, { maxOutput: 50 }), /longer than 50 characters/);
    assert.throws(() => template.render({ n: 50 }, { maxSteps: 20 }), /does too much/);
  });
});
