import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import type { CallScope } from '../../contract/capability.ts';
import { VENDOR_FOLDERS } from '../../contract/search.ts';
import { createFsHandle } from '../fs/handle.ts';
import { type Arena, createArena, enginesHere } from './arena-for-tests.ts';

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

const name = fc.constantFrom(
  'a',
  'b',
  'a-b',
  'a.b',
  'c.ts',
  'd.log',
  'ü',
  '\uff5e',
  '\u{1f600}',
  '.h',
  'A',
  'x y',
  'build',
  'vendor',
);
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
const text = fc
  .array(
    fc.constantFrom('a', 'b', 'ab', 'ü', '.', '\n', '\n', '\r\n', ' ', '(', '*', '\\', '-', '\u{1f600}'),
    { maxLength: 40 },
  )
  .map((pieces) => pieces.join(''));
const tree = fc.dictionary(path, text, { minKeys: 1, maxKeys: 14 }).map((files) => {
  // A file cannot be a folder too.
  const paths = Object.keys(files).filter(
    (one) => !Object.keys(files).some((other) => other.startsWith(`${one}/`)),
  );
  return Object.fromEntries(paths.map((one) => [one, files[one]!]));
});
const literal = fc.constantFrom(
  'a',
  'b',
  'ab',
  'ba',
  'ü',
  '.',
  '(',
  '*',
  '\\',
  '-',
  'a.',
  ' a',
  '\u{1f600}',
  'aa',
);
const glob = fc.constantFrom(
  '**',
  '*',
  'a/**',
  '**/*.ts',
  '*/*',
  'a-b/*',
  '**/a/*',
  '{a,b}/**',
  '**/[!a]*',
  'a',
  '**/*.*',
  '?/**',
);
const rule = fc.constantFrom(
  '*.log',
  '/a',
  'a/',
  'b',
  '!b',
  '**/c.ts',
  'a/b',
  '/build/',
  'x y',
  'ü',
  '!*.log',
  'a/**/b',
  '.h',
  'a-*',
  '[ab]',
  '#a',
  '',
);

describe('every engine', async () => {
  const engines = Object.entries(await enginesHere());
  let home: Arena;
  let arenas: readonly (readonly [string, Arena])[];
  before(() => {
    home = createArena(createFsHandle);
    arenas = engines.map(([engine, path]) => [engine, home.withEngine(path)]);
  });
  after(() => home.close());

  const within = async (files: Readonly<Record<string, string>>, check: () => Promise<void>) => {
    for (const [file, content] of Object.entries(files)) home.put(file, content);
    try {
      await check();
    } finally {
      for (const file of Object.keys(files))
        rmSync(join(home.root, file.split('/')[0]!), { recursive: true, force: true });
    }
  };

  it('finds what a plain look at every line finds', async () => {
    await fc.assert(
      fc.asyncProperty(
        tree,
        literal,
        fc.boolean(),
        fc.integer({ min: 1, max: 30 }),
        (files, pattern, caseSensitive, maxResults) =>
          within(files, async () => {
            const expected = naive(files, pattern, caseSensitive);
            for (const [engine, arena] of arenas) {
              const query = {
                pattern,
                caseSensitive,
                fixedStrings: true,
                includeHidden: true,
                includeIgnored: true,
                maxResults,
              };
              const { matches, truncated } = await arena.search(query);
              assert.deepEqual(matches, expected.slice(0, maxResults), engine);
              assert.equal(truncated, expected.length > maxResults, engine);
              const { files: counted } = await arena.search({ ...query, mode: 'count', maxResults: 1000 });
              assert.equal(
                counted.reduce((sum, { count }) => sum + count, 0),
                expected.length,
                engine,
              );
            }
          }),
      ),
      { numRuns: 60 },
    );
  });

  it('looks at the files that a listing lists, but for other people’s code', async () => {
    const rules = fc.array(rule, { maxLength: 4 }).map((lines) => lines.join('\n'));
    await fc.assert(
      fc.asyncProperty(
        tree,
        glob,
        rules,
        rules,
        fc.boolean(),
        fc.boolean(),
        (files, pattern, top, inner, includeHidden, includeIgnored) =>
          within({ ...withText(files), '.gitignore': `${top}\n`, 'a/.gitignore': `${inner}\n` }, async () => {
            const scope = {
              root: home.root,
              extraRoots: [],
              admit() {},
              visible: () => true,
              warn() {},
            } as unknown as CallScope;
            const query = {
              glob: pattern === 'a' ? 'a/**' : pattern,
              includeHidden,
              includeIgnored,
              maxResults: 1000,
            };
            const { files: listed } = await createFsHandle(scope).list(query);
            const expected = listed.filter((file) => includeIgnored || !isVendored(file)).toSorted(byBytes);
            for (const [engine, arena] of arenas) {
              const found = await arena.search({ ...query, glob: pattern, pattern: '^', mode: 'files' });
              assert.deepEqual(
                found.files.map(({ file }) => file),
                expected,
                engine,
              );
            }
          }),
      ),
      { numRuns: 60 },
    );
  });
});

/** Nothing is found in an empty file. */
const withText = (files: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.keys(files)
      .filter((file) => file !== 'a')
      .map((file) => [file, 'x\n']),
  );

const isVendored = (file: string) =>
  file
    .split('/')
    .slice(0, -1)
    .some((folder) => VENDOR_FOLDERS.includes(folder));

function naive(files: Readonly<Record<string, string>>, pattern: string, caseSensitive: boolean) {
  const fold = (line: string) => (caseSensitive ? line : line.toLowerCase());
  return Object.keys(files)
    .toSorted(byBytes)
    .flatMap((file) => {
      const lines = files[file]!.split('\n');
      if (lines.at(-1) === '') lines.pop();
      return lines.flatMap((terminated, i) => {
        const last = i === lines.length - 1 && !files[file]!.endsWith('\n');
        const snippet = last ? terminated : terminated.replace(/\r$/, '');
        const at = fold(snippet).indexOf(fold(pattern));
        if (at < 0) return [];
        return [{ file, line: i + 1, col: Buffer.byteLength(snippet.slice(0, at)) + 1, snippet }];
      });
    });
}
