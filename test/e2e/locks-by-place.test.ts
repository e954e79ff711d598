// Owns: the proof that calls which reach one place by different names wait for each other as if they named it alike.
// Refuses: several processes (concurrency.test.ts) and links swapped by others (races.test.ts).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Edit } from '../../src/contract/capability.ts';
import { createRuntime, type DefaultRuntime, defineBuiltin } from '../../src/index.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const ROUNDS = Array.from({ length: 20 }, (_, round) => round);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('calls at once that reach one place by different names', () => {
  let workspace: Workspace;
  let beside: Workspace;
  let runtimes: readonly DefaultRuntime[];

  before(async () => {
    workspace = makeWorkspace({});
    beside = makeWorkspace({});
    workspace.put('haft.yaml', `version: 1\npaths: { extra_roots: [${JSON.stringify(beside.root)}] }\n`);
    mkdirSync(workspace.path('d'));
    symlinkSync('d', workspace.path('l'));
    symlinkSync('l', workspace.path('chain'));
    symlinkSync(workspace.path('d'), workspace.path('absolute'));
    symlinkSync(workspace.path('d'), beside.path('back'));
    symlinkSync(beside.root, workspace.path('out'));
    // Two, as two processes are: neither knows what the other is about to do but by the locks.
    runtimes = [
      await createRuntime({ workspace: workspace.root }),
      await createRuntime({ workspace: workspace.root }),
    ];
  });
  after(async () => {
    for (const runtime of runtimes ?? []) await runtime.close();
    workspace?.remove();
    beside?.remove();
  });

  /** One call for each, in turn by the one and the other runtime. */
  const atOnce = (...calls: readonly (readonly [tool: string, args: Record<string, unknown>])[]) =>
    Promise.all(
      calls.map(async ([tool, args], at) => {
        const { ok, errors, data } = await runtimes[at % 2]!.call({ tool, args: args as never });
        return { ok, reason: errors[0]?.reason, data };
      }),
    );
  const reasonsOf = (results: readonly { readonly reason: string | undefined }[]) =>
    results.flatMap(({ reason }) => (reason === undefined ? [] : [reason]));

  const names = ['d', 'l', 'chain', 'absolute'];

  it('one of those that expect the same version writes', async () => {
    for (const round of ROUNDS) {
      workspace.put(`d/cas-${round}`, 'before');
      const results = await atOnce(
        ...[...names, `${beside.root}/back`].map(
          (name) =>
            [
              'file_write',
              { path: `${name}/cas-${round}`, content: name, expected_sha256: sha256('before') },
            ] as const,
        ),
      );
      assert.deepEqual(reasonsOf(results), Array(4).fill('file.conflict'));
    }
  });

  it('one of those that name a file and a link to it writes', async () => {
    for (const round of ROUNDS) {
      workspace.put(`d/file-${round}`, 'before');
      symlinkSync(`file-${round}`, workspace.path(`d/link-${round}`));
      const results = await atOnce(
        ...[`d/file-${round}`, `d/link-${round}`, `l/link-${round}`].map(
          (path) => ['file_write', { path, content: path, expected_sha256: sha256('before') }] as const,
        ),
      );
      assert.deepEqual(reasonsOf(results), Array(2).fill('file.conflict'));
    }
  });

  it('one of those that must create a file below folders that are not there yet creates it', async () => {
    for (const round of ROUNDS) {
      const results = await atOnce(
        ...names.map(
          (name) =>
            ['file_write', { path: `${name}/new-${round}/a/b`, content: name, must_create: true }] as const,
        ),
      );
      assert.deepEqual(reasonsOf(results), Array(3).fill('path.exists'));
    }
  });

  it('one of those that create what a link leads to, where nothing is yet, creates it', async () => {
    for (const round of ROUNDS) {
      symlinkSync(`d/awaited-${round}`, workspace.path(`waits-${round}`));
      const results = await atOnce(
        ['file_write', { path: `d/awaited-${round}`, content: 'a', must_create: true }],
        ['file_write', { path: `waits-${round}`, content: 'b', must_create: true }],
      );
      assert.deepEqual(reasonsOf(results), ['path.exists']);
    }
  });

  it('patches of one file are both in it', async () => {
    for (const round of ROUNDS) {
      workspace.put(`d/patch-${round}`, '1\n2\n3\n4\n5\n6\n7\n8\n9\n');
      const results = await atOnce(
        ['file_patch', { path: `d/patch-${round}`, unified_diff: '@@\n-1\n+A\n 2\n' }],
        ['file_patch', { path: `l/patch-${round}`, unified_diff: '@@\n 8\n-9\n+B\n' }],
        ['file_edit', { path: `d/patch-${round}`, old: '5', new: 'C' }],
      );
      assert.deepEqual(reasonsOf(results), []);
      assert.equal(readFileSync(workspace.path(`d/patch-${round}`), 'utf8'), 'A\n2\n3\n4\nC\n6\n7\n8\nB\n');
    }
  });

  it('of an undo and a write that expects what it takes back one is done', async () => {
    for (const round of ROUNDS) {
      workspace.put(`d/undo-${round}`, 'before');
      const [runtime] = runtimes;
      const { callId } = await runtime!.call({
        tool: 'file_write',
        args: { path: `d/undo-${round}`, content: 'after' },
      });
      const results = await atOnce(
        ['file_write', { path: `l/undo-${round}`, content: 'later', expected_sha256: sha256('after') }],
        ['undo', { call_id: callId }],
      );
      const reasons = reasonsOf(results);
      assert.equal(reasons.length, 1, JSON.stringify(results));
      assert.match(reasons[0]!, /^(file|undo)\.conflict$/);
    }
  });

  it('of two moves to one name one is done', async () => {
    for (const round of ROUNDS) {
      workspace.put(`one-${round}`, 'x');
      workspace.put(`two-${round}`, 'y');
      const results = await atOnce(
        ['fs_move', { src: `one-${round}`, dst: `d/to-${round}` }],
        ['fs_move', { src: `two-${round}`, dst: `l/to-${round}` }],
      );
      assert.deepEqual(reasonsOf(results), ['path.exists']);
    }
  });

  it('a move of a folder, a delete of it and a write into it each find it whole or gone', async () => {
    for (const round of ROUNDS) {
      workspace.put(`d/tree-${round}/a`, 'x');
      const results = await atOnce(
        ['fs_move', { src: `d/tree-${round}`, dst: `d/moved-${round}` }],
        ['fs_delete', { path: `l/tree-${round}`, recursive: true }],
        [
          'file_write',
          { path: `chain/tree-${round}/a`, content: 'y', expected_sha256: sha256('x'), create_dirs: false },
        ],
      );
      const expected = ['path.not_found', 'path.not_found'];
      const reasons = reasonsOf(results).map((reason) =>
        reason === 'file.conflict' ? 'path.not_found' : reason,
      );
      // The write may come first, and leaves the folder to one of the others.
      assert.deepEqual(reasons, results[2]?.ok ? expected.slice(1) : expected);
    }
  });

  for (const parts of [
    ['d/NAME/HEAD', 'l/NAME/commondir'],
    ['d/NAME/HEAD', 'l/NAME/objects/x', 'chain/NAME/refs/x'],
    ['out/NAME/HEAD', 'BESIDE/NAME/objects/x', 'out/NAME/refs/x'],
  ])
    it(`one of ${parts.join(', ')} is refused`, async () => {
      for (const round of ROUNDS) {
        const name = `repository-${parts.length}-${round}`;
        const results = await atOnce(
          ...parts.map((part) => {
            const path = part.replace('NAME', name).replace('BESIDE', beside.root);
            return ['file_write', { path, content: 'x' }] as const;
          }),
        );
        assert.deepEqual(reasonsOf(results), ['path.protected']);
      }
    });
});

describe('a link that is changed after the locks were taken', () => {
  const edits: Readonly<Record<string, (path: string) => Edit>> = {
    write: (path) => ({ op: 'write', path, bytes: Buffer.from('new') }),
    delete: (path) => ({ op: 'delete', path, recursive: true, force: false }),
    'move from': (path) => ({ op: 'move', from: path, to: 'elsewhere', overwrite: true }),
    'move to': (path) => ({ op: 'move', from: 'elsewhere', to: path, overwrite: true }),
    'copy to': (path) => ({ op: 'copy', from: 'elsewhere', to: path, overwrite: true }),
  };
  /** Declares what it changes, and has links lead elsewhere before it does. */
  const swapping = (root: string) =>
    defineBuiltin<{ readonly op: string }, object>({
      id: 'swapping',
      title: 'Swap',
      description: 'Has a link lead elsewhere, then changes what is behind it.',
      tags: [],
      mutates: true,
      input: { type: 'object', properties: { op: { type: 'string' } }, required: ['op'] },
      output: { type: 'object' },
      effects: () =>
        ['l/a', 'elsewhere'].flatMap((path) => [
          { kind: 'fs.read', path, tree: true } as const,
          { kind: 'fs.write', path, tree: true } as const,
        ]),
      async run({ op }, ctx) {
        rmSync(join(root, 'l'));
        symlinkSync('e', join(root, 'l'));
        await ctx.fs.mutate([edits[op]!('l/a')]);
        return {};
      },
    });

  for (const op of Object.keys(edits))
    it(`${op} is refused as raced, and done when it is tried again`, async () => {
      const workspace = makeWorkspace({ 'd/a': 'd', 'e/a': 'e', elsewhere: 'x' });
      symlinkSync('d', workspace.path('l'));
      const runtime = await createRuntime({ workspace: workspace.root, tools: [swapping(workspace.root)] });
      try {
        const { errors } = await runtime.call({ tool: 'swapping', args: { op } });
        assert.equal(errors[0]?.reason, 'path.raced', errors[0]?.message);
        assert.equal(errors[0]?.retryable, true);
        const files = ['d/a', 'e/a', 'elsewhere'].map((path) => readFileSync(workspace.path(path), 'utf8'));
        assert.deepEqual(files, ['d', 'e', 'x']);
        const again = await runtime.call({ tool: 'swapping', args: { op } });
        assert.deepEqual(again.errors, []);
      } finally {
        await runtime.close();
        workspace.remove();
      }
    });
});
