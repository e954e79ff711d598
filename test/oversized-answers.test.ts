// Owns: the proof that an answer over the limit fails with the whole of it kept, and is never cut.
// Refuses: tools that answer in parts by themselves; their own tests show those.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createRuntime, type DefaultRuntime, defineBuiltin } from '../src/index.ts';
import { makeWorkspace } from './e2e/support/workspace.ts';

const LIMIT = 1000;
const OBJECT = { type: 'object', additionalProperties: true } as const;

const long = defineBuiltin<{ readonly length: number }, { readonly text: string }>({
  id: 'long',
  title: 'Answer a long text',
  description: 'Answers a text of that length.',
  input: OBJECT,
  output: OBJECT,
  effects: () => [],
  run: ({ length }) => ({ text: 'ä'.repeat(length / 2) }),
});

describe('an answer over max_output_bytes', () => {
  const workspace = makeWorkspace({ 'haft.yaml': `version: 1\nlimits: { max_output_bytes: ${LIMIT} }\n` });
  let runtime: DefaultRuntime;
  before(async () => {
    runtime = await createRuntime({ workspace: workspace.root, tools: [long] });
  });
  after(async () => {
    await runtime.close();
    workspace.remove();
  });

  it('fails, and the artifact that it names holds the whole answer', async () => {
    const { ok, data, errors } = await runtime.call({ tool: 'long', args: { length: 4000 } });
    const [error] = errors;
    assert.deepEqual([ok, data, error?.reason], [false, null, 'output.too_large']);
    assert.equal(error?.details?.limit, LIMIT);
    const artifact = error?.details?.artifact as `sha256:${string}`;
    assert.ok(error?.message.includes(artifact));
    const kept = JSON.parse(new TextDecoder().decode(await runtime.objects.get(artifact)));
    assert.deepEqual(kept, { text: 'ä'.repeat(2000) });
  });

  it('is counted in bytes, and one below the limit passes', async () => {
    assert.equal((await runtime.call({ tool: 'long', args: { length: 900 } })).ok, true);
    assert.equal((await runtime.call({ tool: 'long', args: { length: LIMIT } })).ok, false);
  });
});
