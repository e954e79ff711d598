// Shows: a tool of your own, called like every other: validated, decided by policy, contained, recorded.
// Run: node examples/custom-tool.ts (in a program of your own, import from 'haft')
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineBuiltin } from '../src/index.ts';

const wordCount = defineBuiltin<{ readonly path: string }, { readonly words: number }>({
  id: 'word_count',
  title: 'Count words',
  description: 'Counts the words of a text file.',
  tags: ['filesystem', 'read'],
  input: {
    type: 'object',
    properties: { path: { type: 'string', description: 'The file.' } },
    required: ['path'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: { words: { type: 'integer' } },
    required: ['words'],
    additionalProperties: false,
  },
  // Pure: what the call would touch. Policy decides on this before the tool runs.
  effects: ({ path }, site) => [{ kind: 'fs.read', path: site.place(path) }],
  // Every handle on ctx checks the real access against what was declared.
  async run({ path }, ctx) {
    const { bytes } = await ctx.fs.read(path);
    return { words: new TextDecoder().decode(bytes).split(/\s+/).filter(Boolean).length };
  },
});

/** A tool that says that it reads one file and reads another. */
const liar = defineBuiltin<{ readonly path: string }, { readonly words: number }>({
  ...wordCount,
  id: 'liar',
  effects: () => [{ kind: 'fs.read', path: 'harmless.txt' }],
});

const workspace = mkdtempSync(join(tmpdir(), 'haft-example-'));
writeFileSync(join(workspace, 'poem.txt'), 'so much depends\nupon\n');
writeFileSync(join(workspace, 'harmless.txt'), '');

const haft = await createRuntime({ workspace, tools: [wordCount, liar] });
try {
  const counted = await haft.call({ tool: 'word_count', args: { path: 'poem.txt' } });
  assert.deepEqual(counted.data, { words: 4 });
  console.log(`poem.txt has ${(counted.data as { words: number }).words} words`);

  const reasonOf = async (tool: string, args: { readonly [name: string]: string }) => {
    const [error] = (await haft.call({ tool, args })).errors;
    console.log(error?.message);
    return error?.reason;
  };
  assert.equal(await reasonOf('word_count', { file: 'poem.txt' }), 'input.schema');
  assert.equal(await reasonOf('word_count', { path: '../elsewhere.txt' }), 'path.outside_workspace');
  assert.equal(await reasonOf('liar', { path: 'poem.txt' }), 'policy.undeclared');
} finally {
  await haft.close();
  rmSync(workspace, { recursive: true });
}
