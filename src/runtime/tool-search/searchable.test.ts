import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { BUILTIN_TOOLS } from '../../tools/index.ts';
import { createToolSearch } from './create-tool-search.ts';
import { createLexicalRanker } from './lexical-ranker.ts';
import { SEARCHABLE_TOOLS, type SearchableSite } from './searchable.ts';

const site = (): SearchableSite => ({
  tools: () =>
    BUILTIN_TOOLS.map((contract) => ({ contract, origin: 'builtin', enabled: contract.id !== 'curl' })),
  search: createToolSearch([createLexicalRanker()]),
});
const use = (name: string, args: JsonObject) =>
  SEARCHABLE_TOOLS.find((tool) => tool.name === name)!.run(args, site());

describe('find_tool', () => {
  it('answers names with a line each, of enabled tools only', async () => {
    const answer = await use('find_tool', { query: 'read a file', limit: 2 });
    assert.ok('data' in answer);
    const { tools, total } = answer.data as { tools: { tool: string; description: string }[]; total: number };
    assert.equal(tools.length, 2);
    assert.equal(tools[0]?.tool, 'file_read');
    assert.equal(total, BUILTIN_TOOLS.length - 1);
    assert.equal(answer.text.split('\n').length, 2);
    assert.ok(tools.every(({ description }) => description.length > 0 && description.length <= 160));
    assert.deepEqual((await use('find_tool', { query: 'http' })) as object, {
      data: { tools: [], total },
      text: `No tool matches; there are ${total}. Try other words.`,
    });
  });

  it('refuses what is no query and no limit', async () => {
    for (const args of [
      {},
      { query: 1 },
      { query: ' ' },
      { query: 'x', limit: 0 },
      { query: 'x', limit: '3' },
      { query: 'x', limit: 51 },
    ])
      await assert.rejects(use('find_tool', args as JsonObject), { reason: 'input.schema' });
  });
});

describe('describe_tool', () => {
  it('answers what a caller must know', async () => {
    const answer = await use('describe_tool', { tool: 'file_read' });
    const { input } = BUILTIN_TOOLS.find(({ id }) => id === 'file_read')!;
    assert.ok('data' in answer);
    assert.deepEqual(answer.data.input_schema, input);
    assert.deepEqual(JSON.parse(answer.text), JSON.parse(JSON.stringify(answer.data)));
  });

  it('says why a tool is disabled, or its pack', async () => {
    const [curl] = BUILTIN_TOOLS.filter(({ id }) => id === 'curl');
    const describeTool = SEARCHABLE_TOOLS.find(({ name }) => name === 'describe_tool')!;
    const [search] = [site().search];
    for (const [more, message] of [
      [{}, /it is disabled: policy does not grant it$/],
      [{ denied: 'no backend can run it' }, /it is disabled: no backend can run it$/],
      [{ quarantined: 'it changed' }, /it is disabled: it changed$/],
      [{ lacks: ['haft credentials set github'] }, /credential .* haft credentials set github$/],
      [{ admit: 'network:\n  allowed_domains: [a.org]\n' }, /lines of haft\.yaml:\nnetwork:/],
    ] as const) {
      const tools = () => [{ contract: curl!, origin: 'builtin', enabled: false, ...more }];
      await assert.rejects(describeTool.run({ tool: 'curl' }, { tools, search }), {
        reason: 'tool.disabled',
        message,
      });
    }
    const explainMissing = async () => fail('tool.disabled', 'Cannot call "x.y": its pack "x" is disabled');
    await assert.rejects(describeTool.run({ tool: 'x.y' }, { tools: () => [], search, explainMissing }), {
      message: /its pack "x" is disabled/,
    });
  });

  it('names the nearest where there is none', async () => {
    await assert.rejects(use('describe_tool', { tool: 'fil_read' }), {
      reason: 'tool.unknown',
      message: /did you mean "file_read"/,
    });
  });
});

describe('call_tool', () => {
  it('is the call of the tool that it names, and nothing of its own', async () => {
    const args = { path: 'a', nested: { list: [1, null] } };
    assert.deepEqual(await use('call_tool', { tool: 'file_read', arguments: args }), {
      call: { tool: 'file_read', args },
    });
    assert.deepEqual(await use('call_tool', { tool: 'fs_list' }), { call: { tool: 'fs_list', args: {} } });
    for (const inner of [[], null, 'x', 1])
      await assert.rejects(use('call_tool', { tool: 'fs_list', arguments: inner }), {
        reason: 'input.schema',
      });
  });
});
