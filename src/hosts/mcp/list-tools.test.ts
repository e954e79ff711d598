// Owns: what `tools/list` answers: which tools are in which profile, and that every client can read every schema.
// Refuses: clients; test/mcp-mapping.test.ts and test/e2e/mcp-text.test.ts have those.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Runtime, ToolListing } from '../../contract/runtime.ts';
import { SEARCHABLE_TOOLS } from '../../runtime/tool-search/searchable.ts';
import { BUILTIN_TOOLS } from '../../tools/index.ts';
import { listTools } from './list-tools.ts';
import { FINDERS, type McpView, PROFILES, type Profile } from './view.ts';

const builtins: readonly ToolListing[] = BUILTIN_TOOLS.map((contract) => ({
  contract,
  origin: 'builtin',
  enabled: true,
}));
const ofPack = (id: string, input: object = { type: 'object' }): ToolListing => ({
  contract: { ...BUILTIN_TOOLS[0]!, id, input: input as never, tags: ['artifacts'] },
  origin: 'pack own',
  enabled: true,
});
const list = (tools: readonly ToolListing[], profile: Profile, outputSchemas = false) => {
  const view: McpView = { profile, outputSchemas };
  // biome-ignore lint/suspicious/noExplicitAny: whatever is listed
  return JSON.parse(listTools({ tools: () => tools } as Runtime, view)) as Record<string, any>[];
};
const names = (tools: readonly Record<string, unknown>[]) => tools.map(({ name }) => name);

describe('listTools', () => {
  it('lists everyday builtins, tools of packs and the finders by default', () => {
    const listed = names(list([...builtins, ofPack('own.store')], 'default'));
    for (const name of ['file_read', 'file_write', 'grep', 'shell_exec', 'undo', 'own.store', ...FINDERS])
      assert.ok(listed.includes(name), name);
    for (const name of ['artifact_get', 'slurm_submit', 'docker_job_get'])
      assert.ok(!listed.includes(name), name);
  });

  it('lists everything and no finder in the profile "all", only finders in "searchable"', () => {
    assert.deepEqual(
      names(list(builtins, 'all')),
      names(builtins.map(({ contract }) => ({ name: contract.id }))),
    );
    assert.deepEqual(names(list(builtins, 'searchable')), FINDERS);
    assert.deepEqual(FINDERS, names(SEARCHABLE_TOOLS as never));
  });

  it('leaves out what cannot be used, and a finder whose name a tool has', () => {
    const off = { ...builtins[0]!, enabled: false };
    assert.deepEqual(names(list([off, ofPack('call_tool')], 'all')), ['call_tool']);
    assert.deepEqual(names(list([ofPack('call_tool')], 'default')), [
      'call_tool',
      'find_tool',
      'describe_tool',
    ]);
  });

  it('lists schemas of answers only where they are asked for', () => {
    assert.ok(list(builtins, 'all').every((tool) => !('outputSchema' in tool)));
    assert.ok(list(builtins, 'all', true).every(({ outputSchema }) => outputSchema.type === 'object'));
  });

  it('has no list as a type in any schema, which Inspector warns of', () => {
    const odd = { type: 'object', properties: { a: { type: ['string', 'null'] }, b: { $ref: '#/$defs/c' } } };
    const pack = ofPack('own.odd', { ...odd, $defs: { c: { type: ['array', 'null'], items: {} } } });
    for (const profile of Object.keys(PROFILES) as Profile[])
      for (const tool of list([...builtins, pack], profile, true))
        assert.doesNotMatch(JSON.stringify(tool), /"type":\[/, tool.name);
  });

  it('says that what changes something is destructive: clients that are not told do not ask', () => {
    for (const { name, annotations } of list(builtins, 'all')) {
      const { readOnlyHint = false, destructiveHint } = annotations;
      assert.equal(typeof destructiveHint, readOnlyHint ? 'undefined' : 'boolean', name);
    }
    const writing = list(builtins, 'default').filter(({ annotations }) => annotations.destructiveHint);
    assert.ok(names(writing).includes('shell_exec'));
  });
});
