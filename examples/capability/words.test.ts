import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { once } from '../../src/base/once.ts';
import { defineBuiltin } from '../../src/contract/tool.ts';
import { createSchemaCompiler } from '../../src/loader/schema/schema-compiler.ts';
import { openObjectStore } from '../../src/stores/objects/open-object-store.ts';
import { createToolHarness, type ToolHarness } from '../../src/testing/tool-harness-for-tests.ts';
import { words } from './words.ts';

const findWord = defineBuiltin<{ readonly word: string }, readonly string[]>({
  id: 'find_word',
  title: 'Find a word',
  description: 'Names the files that hold a word.',
  input: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  output: { type: 'array' },
  effects: () => [{ kind: 'fs.read', path: '.', tree: true }],
  run: ({ word }, ctx) => ctx.words.find(word),
});

describe('ctx.words', () => {
  let harness: ToolHarness;
  const state = once(async () => words.open!({ root: harness.root, folder: '' }));
  const find = async (word: string, hidden?: string) => {
    const denies = (effect: object) => 'path' in effect && effect.path === hidden;
    return (await harness.call(findWord, { word }, { denies })).data;
  };
  before(async () => {
    harness = await createToolHarness({
      capabilities: { words: (scope) => words.handle(scope, state) },
      openObjects: (folder) => openObjectStore({ folder, process: 'test' }),
      schemas: createSchemaCompiler(),
    });
    harness.put('a.txt', 'one two');
    harness.put('b/c.txt', 'two three');
  });
  after(() => harness.close());

  it('names the files that hold a word, but not those that a call may not see', async () => {
    assert.deepEqual(await find('two'), ['a.txt', 'b/c.txt']);
    assert.deepEqual(await find('two', 'a.txt'), ['b/c.txt']);
  });

  it('follows what it is told', async () => {
    harness.put('b/c.txt', 'four');
    await words.changed?.([{ path: 'b', tree: true }], await state(), new AbortController().signal);
    assert.deepEqual(await find('two'), ['a.txt']);
    assert.deepEqual(await find('four'), ['b/c.txt']);
  });
});
