import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { moduleText, withPacks } from './toolpack-for-tests.ts';

const good = moduleText();

describe('a toolpack that cannot be loaded', () => {
  const CASES: readonly [what: string, files: Readonly<Record<string, string>>, place: string][] = [
    [
      'a mistake that only TypeScript knows',
      { 'toolpack.ts': `${good}\n  enum A { B }\n` },
      'toolpack.ts:18:3',
    ],
    [
      'a text without its end',
      { 'toolpack.ts': `const a = 1;\nconst b: string = 'x;\n` },
      'toolpack.ts:2:19',
    ],
    [
      'a name that is given twice',
      { 'toolpack.ts': `const a = 1;\n\n  const a: number = 2;\n` },
      'toolpack.ts:3:9',
    ],
    [
      'a mistake in a module of JavaScript that it imports',
      { 'toolpack.ts': `import './below/part.js';\n${good}`, 'below/part.js': 'const a = 1;\nconst b = ;\n' },
      'below/part.js:2:11',
    ],
    [
      'a mistake in a module of TypeScript that it imports',
      { 'toolpack.ts': `import './part.ts';\n${good}`, 'part.ts': '\n\nlet a: number = = 1;\n' },
      'part.ts:3:17',
    ],
    [
      'something that it throws',
      { 'toolpack.ts': `${good}\nconst none: any = null;\n none.x;\n` },
      'toolpack.ts:19:7',
    ],
    [
      'something that a module throws which it imports',
      { 'toolpack.ts': `import './part.ts';\n${good}`, 'part.ts': "\nthrow new Error('no');\n" },
      'part.ts:2:7',
    ],
    [
      'an import that leads nowhere',
      { 'toolpack.ts': `${good}\nimport './absent.ts';\n` },
      'toolpack.ts:18:8',
    ],
    [
      'a package that it has not',
      { 'toolpack.ts': `${good}\nimport { x } from 'absent';\n` },
      'toolpack.ts:18:19',
    ],
    [
      'a name that a module does not export',
      { 'toolpack.ts': `import { x } from './part.ts';\n${good}`, 'part.ts': 'export const y = 1;\n' },
      'toolpack.ts:1:10',
    ],
  ];
  for (const [what, files, place] of CASES)
    it(`for ${what} names the file, line and column`, () =>
      withPacks(async ({ open }) => {
        const { diagnostics } = await open(files);
        const [one] = diagnostics;
        assert.deepEqual([one?.code, `${one?.file}:${one?.line}:${one?.column}`], ['module.failed', place]);
        assert.doesNotMatch(one?.message ?? '', /haft-toolpack-|ended with/);
      }));
});

describe('a toolpack whose canonicalize throws', () => {
  it('is told where', () =>
    withPacks(async ({ open, prepare }) => {
      const { value } = await open({
        'toolpack.ts': moduleText({ canonicalize: "() => {\n throw new Error('too bad'); }" }),
      });
      await assert.rejects(prepare(value!), {
        reason: 'toolpack.failed',
        message: 'Cannot ask the toolpack "pack": too bad (toolpack.ts:12:8)',
      });
    }));
});
