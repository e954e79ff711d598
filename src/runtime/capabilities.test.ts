import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { words } from '../../examples/capability/words.ts';
import { makeWorkspace, type Workspace } from '../../test/e2e/support/workspace.ts';
import type { Capability, PathChange } from '../contract/capability.ts';
import { fail } from '../contract/errors.ts';
import { defineBuiltin } from '../contract/tool.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../preset/default.ts';
import { createCapabilities } from './capabilities.ts';

const POLICY = `version: 1
shell_allow: ['^.*']
packs: [tools]
paths:
  rules:
    - { path: 'secret.txt', read: deny }
`;

const PROGRAM = `id: tools.append
name: Append
description: Appends a word to a file.
version: 1.0.0
deterministic: false
timeoutMs: 10000
limits: { maxInputBytes: 1000, maxOutputBytes: 1000 }
inputSchema: { type: object }
outputSchema: { type: string }
execution: { kind: cli, cmd: [sh, -c, "printf thir%s teen >> out/grown.txt"] }
caps: { filesystem: { write: ["out"] } }
`;

const findWord = defineBuiltin<{ readonly word: string }, readonly string[]>({
  id: 'find_word',
  title: 'Find a word',
  description: 'Names the files that hold a word.',
  input: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  output: { type: 'array' },
  effects: () => [{ kind: 'fs.read', path: '.', tree: true }],
  run: ({ word }, ctx) => ctx.words.find(word),
});

/** The index of words, counted, and spoilt on demand. */
function watchedWords() {
  const seen = { opened: 0, closed: 0, told: [] as PathChange[] };
  const fault: { open?: Error; changed?: Error } = {};
  const capability: typeof words = {
    ...words,
    protects: ['words.idx'],
    locks: ({ effects }) =>
      effects.some((effect) => effect.kind === 'fs.write' && effect.path.startsWith('locked/'))
        ? ['index']
        : [],
    open(site) {
      seen.opened++;
      if (fault.open) throw fault.open;
      return words.open!(site);
    },
    changed(changes, state, signal) {
      seen.told.push(...changes);
      if (fault.changed) throw fault.changed;
      return words.changed?.(changes, state, signal);
    },
    close: () => void seen.closed++,
  };
  return { capability, seen, fault };
}

describe('a capability with a life', () => {
  let workspace: Workspace;
  let runtime: DefaultRuntime;
  let watched: ReturnType<typeof watchedWords>;
  const open = (capability: Capability) =>
    createDefaultRuntime({
      workspace: workspace.root,
      tools: [findWord],
      capabilities: [capability],
      lock: 'ignore',
    });
  const call = (tool: string, args: object, by = runtime) => by.call({ tool, args: args as never });
  const ok = async (tool: string, args: object, by = runtime) => {
    const answer = await call(tool, args, by);
    assert.deepEqual(answer.errors, []);
    return answer;
  };
  const find = async (word: string, by = runtime) => (await ok('find_word', { word }, by)).data;
  const toldOf = async (work: () => Promise<unknown>) => {
    watched.seen.told.length = 0;
    await work();
    return watched.seen.told.map(({ path }) => path).sort();
  };

  before(async () => {
    workspace = makeWorkspace({
      'haft.yaml': POLICY,
      'tools/append.tool.yaml': PROGRAM,
      'a.txt': 'one two',
      'out/grown.txt': '',
      'b/c.txt': 'two three',
      'secret.txt': 'two',
      'words.idx': 'two',
    });
    watched = watchedWords();
    runtime = await open(watched.capability);
  });
  after(async () => {
    await runtime.close();
    workspace.remove();
  });

  it('is not opened by a call that does not need it', async () => {
    await ok('file_write', { path: 'early.txt', content: 'early' });
    await ok('shell_exec', { cmd: 'true' });
    assert.deepEqual(watched.seen, { opened: 0, closed: 0, told: [] });
  });

  it('that cannot be opened refuses what needs it, and nothing else', async () => {
    watched.fault.open = fail('store.unwritable', 'Cannot open the index: it is not there');
    assert.equal((await call('find_word', { word: 'one' })).errors[0]?.reason, 'store.unwritable');
    await ok('file_read', { path: 'a.txt' });
    delete watched.fault.open;
    watched.seen.opened = 0;
  });

  it('is opened once by all that need it, and answers under the policy of each call', async () => {
    const found = await Promise.all([find('two'), find('two'), find('early')]);
    assert.deepEqual(found, [['a.txt', 'b/c.txt'], ['a.txt', 'b/c.txt'], ['early.txt']]);
    assert.equal(watched.seen.opened, 1);
  });

  it('is told of writes, renames, deletes and undo before they are answered', async () => {
    assert.deepEqual(
      await toldOf(() => ok('file_write', { path: 'new/d.txt', content: 'four', create_dirs: true })),
      ['new', 'new/d.txt'],
    );
    assert.deepEqual(await find('four'), ['new/d.txt']);
    assert.deepEqual(await toldOf(() => ok('fs_move', { src: 'new', dst: 'moved' })), ['moved', 'new']);
    assert.deepEqual(await find('four'), ['moved/d.txt']);
    const { callId } = await ok('fs_delete', { path: 'moved', recursive: true });
    assert.deepEqual(await find('four'), []);
    await ok('undo', { call_id: callId });
    assert.deepEqual(await find('four'), ['moved/d.txt']);
  });

  it('is told of nothing by calls that change nothing', async () => {
    const none = async () => {
      await ok('file_read', { path: 'a.txt' });
      await ok('file_write', { path: 'a.txt', content: 'never', dry_run: true });
      await call('file_write', { path: 'haft.yaml', content: 'never' });
    };
    assert.deepEqual(await toldOf(none), []);
  });

  it('is told of what programs changed, and of what changed beside them', async () => {
    await ok('shell_exec', { cmd: 'true' });
    renameSync(workspace.path('b/c.txt'), workspace.path('b/e.txt'));
    const told = await toldOf(() =>
      ok('shell_exec', { cmd: 'echo five > a.txt; mkdir -p deep/er; echo five > deep/er/f; rm early.txt' }),
    );
    for (const path of ['a.txt', 'deep', 'early.txt', 'b/c.txt', 'b/e.txt'])
      assert.ok(told.includes(path), path);
    assert.ok(!told.includes('deep/er/f') && !told.includes('haft.yaml'), String(told));
    assert.deepEqual(await find('five'), ['a.txt', 'deep/er/f']);
    assert.deepEqual(await find('three'), ['b/e.txt']);
    assert.deepEqual(await find('early'), []);
  });

  it('is told of what a program changed that failed', async () => {
    const args = { cmd: 'echo six > a.txt; sleep 60' };
    const { errors } = await runtime.call({ tool: 'shell_exec', args }, { signal: AbortSignal.timeout(500) });
    assert.equal(errors[0]?.reason, 'time.cancelled');
    assert.deepEqual(await find('six'), ['a.txt']);
  });

  it('is told of what the program of a pack changed', async () => {
    await ok('tools.append', {});
    assert.deepEqual(await find('thirteen'), ['out/grown.txt']);
  });

  it('is told of what others that share the workspace changed before it is next used', async () => {
    const other = watchedWords();
    const second = await open(other.capability);
    try {
      assert.deepEqual(await find('seven', second), []);
      await ok('file_write', { path: 'a.txt', content: 'seven' });
      assert.deepEqual(await find('seven', second), ['a.txt']);
      await ok('shell_exec', { cmd: 'echo eight > h.txt' });
      assert.deepEqual(await find('eight', second), ['h.txt']);
      assert.deepEqual(other.seen.told, [
        { path: 'a.txt', tree: false },
        { path: '.', tree: true },
      ]);
    } finally {
      await second.close();
    }
    assert.deepEqual([other.seen.opened, other.seen.closed], [1, 1]);
  });

  it('is told of what another process changed', async () => {
    const command = join(import.meta.dirname, '../bin/haft.ts');
    const args = JSON.stringify({ path: 'other.txt', content: 'fourteen' });
    const { status, stderr } = spawnSync(
      process.execPath,
      [command, 'call', 'file_write', args, '--workspace', workspace.root],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    assert.deepEqual(await find('fourteen'), ['other.txt']);
  });

  it('that cannot follow is told of in a row of the audit and a warning, and opened anew', async () => {
    watched.fault.changed = new Error('a bug in the index');
    const { ok: succeeded, warnings, callId } = await call('file_write', { path: 'a.txt', content: 'nine' });
    delete watched.fault.changed;
    assert.ok(succeeded);
    assert.deepEqual(
      warnings?.map(({ reason }) => reason),
      ['capability.failed'],
    );
    const [row] = await runtime.audit.rows({ tool: 'capability words' });
    assert.equal(row?.outcome, 'failed');
    assert.deepEqual(row?.errors, [{ code: 'E_INTERNAL', reason: 'internal.unexpected' }]);
    assert.deepEqual(row?.facts, { capability: 'words', call: callId });
    assert.deepEqual(await find('nine'), ['a.txt']);
    assert.deepEqual([watched.seen.opened, watched.seen.closed], [2, 1]);
  });

  it('has paths of its own, which tools are refused and programs do not see', async () => {
    for (const [tool, args] of [
      ['file_read', { path: 'words.idx' }],
      ['file_write', { path: 'words.idx', content: 'x' }],
      ['fs_delete', { path: 'words.idx' }],
    ] as const) {
      const [error] = (await call(tool, args)).errors;
      assert.equal(error?.reason, 'path.protected', tool);
      assert.match(error?.message ?? '', /it belongs to the capability "words"/);
    }
    const { data } = await ok('shell_exec', { cmd: 'cat words.idx; cp a.txt words.idx; true' });
    assert.equal((data as { stdout: string }).stdout, '');
    assert.equal(readFileSync(workspace.path('words.idx'), 'utf8'), 'two');
    assert.deepEqual(await find('two'), ['b/e.txt']);
  });

  it('has locks of its own, which one call holds at a time', async () => {
    let inside = 0;
    let most = 0;
    const slow = defineBuiltin<{ readonly path: string }, object>({
      id: 'slow',
      title: 'Slow',
      description: 'Takes a while.',
      mutates: true,
      input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      output: { type: 'object' },
      effects: ({ path }) => [{ kind: 'fs.write', path }],
      async run() {
        most = Math.max(most, ++inside);
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
        inside--;
        return {};
      },
    });
    const second = await createDefaultRuntime({
      workspace: workspace.root,
      tools: [slow],
      capabilities: [watchedWords().capability],
    });
    const third = await createDefaultRuntime({
      workspace: workspace.root,
      tools: [slow],
      capabilities: [watchedWords().capability],
    });
    try {
      const both = (a: string, b: string) =>
        Promise.all([ok('slow', { path: a }, second), ok('slow', { path: b }, third)]);
      await both('locked/a', 'locked/b');
      assert.equal(most, 1);
      for (let round = 0; round < 50 && most < 2; round++) await both('free/a', 'free/b');
      assert.equal(most, 2);
    } finally {
      await second.close();
      await third.close();
    }
  });

  it('is refused where its name or its path cannot be', async () => {
    const refused = (capability: Capability) => assert.rejects(open(capability), { reason: 'usage' });
    await refused({ name: 'fs', handle: () => ({}) as never });
    await refused({ name: 'warn', handle: () => ({}) });
    await refused({ ...words, protects: ['../elsewhere'] });
  });

  it('that does not subscribe costs calls nothing: nothing is around their work', () => {
    const capabilities = [{ name: 'plain', handle: () => ({}) }];
    assert.equal(createCapabilities({ root: workspace.root, capabilities } as never).follow, undefined);
  });

  it('is closed with the runtime', async () => {
    const { capability, seen } = watchedWords();
    const other = await open(capability);
    await find('one', other);
    await other.close();
    assert.equal(seen.closed, 1);
    const unused = watchedWords();
    await (await open(unused.capability)).close();
    assert.deepEqual([unused.seen.opened, unused.seen.closed], [0, 0]);
  });
});
