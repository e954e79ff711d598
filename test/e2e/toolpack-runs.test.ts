// Owns: a toolpack from haft.yaml to its result, on the backend that every machine has: named, executed once, replayed, explained.
// Refuses: engines; those have their own suites.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ObjectId } from '../../src/contract/object-store.ts';
import { fakeDigest, type ToolpackWorkspace, withToolpacks } from './support/toolpack-workspace.ts';

const TEXT = 'the quick brown fox\njumps over\n\nthe lazy dog\n';
const STATS = { lines: 4, longest_line: 19, words: 9 };

const attemptsOf = async (workspace: ToolpackWorkspace, runId = '') =>
  (await (await workspace.runtime()).runs.attempts(runId)).length;

describe('a toolpack in haft.yaml', () => {
  it('is called, answers its result and its outputs, and is replayed without executing anything', () =>
    withToolpacks(['text_stats'], async (workspace) => {
      const text = await workspace.import(TEXT);
      const first = await workspace.call('text_stats', { text });
      assert.ok(first.ok, JSON.stringify(first.errors));
      assert.equal(first.replayed, false);
      assert.match(first.runId ?? '', /^run_[0-9a-f]{64}$/);
      assert.deepEqual(first.data.result, STATS);
      assert.deepEqual(
        first.data.outputs.map(({ role, type }) => [role, type]),
        [
          ['stats', 'application/json'],
          ['log', 'text/plain'],
        ],
      );
      const artifacts = await (await workspace.runtime()).artifacts();
      const [stats] = first.data.outputs;
      const { bytes } = await artifacts.read(stats?.artifact_id as ObjectId);
      assert.equal(Buffer.from(bytes).toString(), `${JSON.stringify(STATS)}\n`);

      const second = await workspace.call('text_stats', { text });
      assert.equal(second.replayed, true);
      assert.equal(second.runId, first.runId);
      assert.deepEqual(second.data, first.data);
      await workspace.restart();
      assert.equal((await workspace.call('text_stats', { text })).replayed, true);
      assert.equal(await attemptsOf(workspace, first.runId), 1);
    }));

  it('executes again when an output is gone or was changed in place', () =>
    withToolpacks(['text_stats'], async (workspace) => {
      // Large enough to lie in a file of its own.
      const text = await workspace.import(TEXT);
      const first = await workspace.call('text_stats', { text });
      const runtime = await workspace.runtime();
      const [stats] = first.data.outputs;
      await damage(workspace, stats?.artifact_id as ObjectId);
      const again = await workspace.call('text_stats', { text });
      assert.ok(again.ok, JSON.stringify(again.errors));
      assert.equal(again.replayed, false);
      assert.equal(again.runId, first.runId);
      assert.equal((await runtime.runs.attempts(first.runId as string)).length, 2);
      assert.equal((await workspace.call('text_stats', { text })).replayed, true);
    }));

  it('of the same call twice at the same moment executes one', () =>
    withToolpacks(['text_stats'], async (workspace) => {
      const text = await workspace.import(TEXT);
      const answers = await Promise.all([1, 2, 3].map(() => workspace.call('text_stats', { text })));
      for (const { ok, data } of answers) {
        assert.ok(ok);
        assert.deepEqual(data, answers[0]?.data);
      }
      assert.equal(await attemptsOf(workspace, answers[0]?.runId), 1);
    }));

  it('is denied, and not even prepared, where policy denies it', () =>
    withToolpacks(
      ['text_stats'],
      async (workspace) => {
        const text = await workspace.import(TEXT);
        const answer = await workspace.call('text_stats', { text });
        assert.equal(answer.errors[0]?.code, 'E_POLICY');
        assert.equal(answer.runId, undefined);
      },
      'tools:\n  rules:\n    - { tool: text_stats, decision: deny }\n',
    ));

  it('of an artifact that is not there fails before anything is executed', () =>
    withToolpacks(['text_stats'], async (workspace) => {
      const answer = await workspace.call('text_stats', { text: fakeDigest('nothing') });
      assert.equal(answer.errors[0]?.reason, 'artifact.unknown', JSON.stringify(answer.errors));
    }));
});

describe('the id of a run', () => {
  /** What changes between two calls, and the field that `explain` names. */
  const CHANGES: readonly {
    readonly what: string;
    readonly field: RegExp;
    change(workspace: ToolpackWorkspace): Promise<void> | void;
  }[] = [
    {
      what: 'the image',
      field: /^image$/,
      change(workspace) {
        workspace.image = fakeDigest('second');
      },
    },
    {
      what: "the toolpack's code",
      field: /^toolpack's code$/,
      async change(workspace) {
        const file = join(workspace.root, 'toolpacks/text_stats/toolpack.ts');
        writeFileSync(file, `${readFileSync(file, 'utf8')}\n// changed\n`);
        await workspace.restart();
      },
    },
    {
      what: 'its policy',
      field: /^policy runs\.limits\.memory_bytes$/,
      async change(workspace) {
        const file = join(workspace.root, 'haft.yaml');
        writeFileSync(file, `${readFileSync(file, 'utf8')}runs:\n  limits: { memory_bytes: 50000000 }\n`);
        await workspace.restart();
      },
    },
  ];
  for (const { what, field, change } of CHANGES) {
    it(`is another one when ${what} changes, and explain says so`, () =>
      withToolpacks(['text_stats'], async (workspace) => {
        const text = await workspace.import(TEXT);
        const before = await workspace.call('text_stats', { text });
        await change(workspace);
        const after = await workspace.call('text_stats', { text });
        assert.ok(after.ok, JSON.stringify(after.errors));
        assert.equal(after.replayed, false);
        const { differences } = await (await workspace.runtime()).runs.explain(before.runId!, after.runId!);
        assert.equal(differences.length, 1, JSON.stringify(differences));
        assert.match(differences[0]?.field ?? '', field);
      }));
  }

  it('is another one when one byte of an input changes, and explain names that input', () =>
    withToolpacks(['text_stats'], async (workspace) => {
      const before = await workspace.call('text_stats', { text: await workspace.import(TEXT) });
      const after = await workspace.call('text_stats', {
        text: await workspace.import(TEXT.replace('quick', 'quack')),
      });
      assert.notEqual(after.runId, before.runId);
      assert.deepEqual(after.data.result, STATS);
      const { differences } = await (await workspace.runtime()).runs.explain(after.runId!);
      assert.deepEqual(
        differences.map(({ field }) => field),
        ['input text.digest'],
      );
    }));

  it('stays when what cannot change the result changes: another tool of policy, times of files, the place of the pack', () =>
    withToolpacks(['text_stats'], async (workspace) => {
      const text = await workspace.import(TEXT);
      const before = await workspace.call('text_stats', { text });
      const file = join(workspace.root, 'haft.yaml');
      writeFileSync(
        file,
        `${readFileSync(file, 'utf8')}budgets: { calls: 1000 }\ntools:\n  rules:\n    - { tool: file_read, decision: ask }\n`,
      );
      utimesSync(join(workspace.root, 'toolpacks/text_stats/toolpack.ts'), 1, 1);
      writeFileSync(join(workspace.root, 'toolpacks/text_stats/README.md'), 'text\n');
      await workspace.restart();
      const after = await workspace.call('text_stats', { text });
      assert.equal(after.runId, before.runId);
      assert.equal(after.replayed, true);
    }));
});

describe('runs of a toolpack', () => {
  it('are verified by executing them again, and listed, watched and retried', () =>
    withToolpacks(['text_stats'], async (workspace) => {
      const text = await workspace.import(TEXT);
      const { runId = '' } = await workspace.call('text_stats', { text });
      const { runs } = await workspace.runtime();
      const verification = await runs.verify(runId);
      assert.equal(verification.identical, true);
      assert.equal((await runs.attempts(runId)).length, 2);
      assert.deepEqual(
        (await runs.list({ tool: 'text_stats', state: 'succeeded', backend: 'local' })).map(
          (row) => row.runId,
        ),
        [runId],
      );
      assert.equal((await runs.retry(runId)).state, 'succeeded');
      const said: Uint8Array[] = [];
      assert.equal(
        (await runs.watch(runId, (chunk) => said.push(chunk), AbortSignal.timeout(10_000))).state,
        'succeeded',
      );
    }));
});

/** Small objects lie in the database; there is one way to reach them behind everybody's back. */
async function damage({ root, runtime }: ToolpackWorkspace, id: ObjectId): Promise<void> {
  const objects = (await runtime()).objects;
  assert.equal(await objects.verify(id), 'ok');
  const file = join(root, '.haft/objects/sha256', id.slice(7, 9), id.slice(7));
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const database = new DatabaseSync(join(root, '.haft/haft.db'), { timeout: 5_000 });
  const { changes } = database.prepare(`DELETE FROM small_objects WHERE sha256 = x'${id.slice(7)}'`).run();
  database.close();
  if (changes === 0) {
    chmodSync(file, 0o600);
    rmSync(file);
  }
  assert.notEqual(await objects.verify(id), 'ok');
}
