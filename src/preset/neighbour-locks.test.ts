import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { makeWorkspace } from '../../test/e2e/support/workspace.ts';
import { defineBuiltin } from '../contract/tool.ts';
import { createDefaultRuntime, type DefaultRuntime } from './default.ts';
import { trustForTests, writeTrusted } from './trust/trust-for-tests.ts';

const ROUNDS = Array.from({ length: 20 }, (_, round) => round);
const made: { remove(): void }[] = [];
after(() => {
  for (const one of made) one.remove();
});

/** A tool that holds the lock of a path while `during` goes on. */
const holding = (during: () => Promise<void>) =>
  defineBuiltin<{ readonly path: string }, object>({
    id: 'holding',
    title: 'Hold',
    description: 'Holds the lock of a path.',
    tags: [],
    mutates: true,
    input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    output: { type: 'object' },
    effects: ({ path }, site) => [{ kind: 'fs.write', path: site.place(path) }],
    async run() {
      await during();
      return {};
    },
  });

/** What one workspace holds the other waits for; and of the parts of a repository that both make at once one is refused. */
async function lockEachOther(
  a: string,
  b: string,
  nameInA: (rel: string) => string,
  nameInB: (rel: string) => string,
) {
  const runtimes: DefaultRuntime[] = [];
  const write = async (at: number, path: string) => {
    const { errors } = await runtimes[at]!.call({ tool: 'file_write', args: { path, content: 'x' } });
    return errors.map(({ reason }) => reason);
  };
  const done: string[] = [];
  let waiting: Promise<unknown> | undefined;
  const during = async () => {
    waiting = write(1, nameInB('held')).then(() => done.push('held'));
    for (const name of ['1', '2', '3']) await write(1, nameInB(name)).then(() => done.push(name));
  };
  try {
    runtimes.push(await createDefaultRuntime({ workspace: a, tools: [holding(during)] }));
    runtimes.push(await createDefaultRuntime({ workspace: b }));
    const held = await runtimes[0]!.call({ tool: 'holding', args: { path: nameInA('held') } });
    assert.deepEqual(held.errors, []);
    await waiting;
    assert.deepEqual(done, ['1', '2', '3', 'held']);
    for (const round of ROUNDS) {
      const reasons = await Promise.all([
        write(0, nameInA(`p${round}/HEAD`)),
        write(1, nameInB(`p${round}/objects/x`)),
        write(1, nameInB(`p${round}/refs/x`)),
      ]);
      assert.deepEqual(reasons.flat(), ['path.protected']);
    }
  } finally {
    await waiting;
    for (const runtime of runtimes) await runtime.close();
  }
}

describe('withNeighbourLocks', () => {
  for (const policy of ['version: 1\n', undefined])
    it(`holds between a workspace and one in it, ${policy ? 'with a policy' : 'without a policy'}`, async () => {
      const outer = makeWorkspace(policy ? { 'haft.yaml': policy } : {});
      made.push(outer);
      mkdirSync(outer.path('a/sub'), { recursive: true });
      await lockEachOther(
        outer.root,
        outer.path('a/sub'),
        (rel) => `a/sub/${rel}`,
        (rel) => rel,
      );
    });

  it('holds between a workspace and one with an extra root in it', async () => {
    const [one, two] = [makeWorkspace({ 'data/x': '' }), makeWorkspace({})];
    made.push(one, two);
    const data = one.path('data');
    writeTrusted(two.path('haft.yaml'), `version: 1\npaths: { extra_roots: [${JSON.stringify(data)}] }\n`);
    await lockEachOther(
      one.root,
      two.root,
      (rel) => `data/${rel}`,
      (rel) => `${data}/${rel}`,
    );
  });

  it('cannot deadlock where each has an extra root in the other', async () => {
    const [one, two] = [makeWorkspace({ 'data/x': '' }), makeWorkspace({ 'data/x': '' })];
    made.push(one, two);
    const [first, second] = [one.path('data'), two.path('data')];
    writeTrusted(one.path('haft.yaml'), `version: 1\npaths: { extra_roots: [${JSON.stringify(second)}] }\n`);
    writeTrusted(two.path('haft.yaml'), `version: 1\npaths: { extra_roots: [${JSON.stringify(first)}] }\n`);
    // So that both have state before either is asked.
    for (const { root } of [one, two]) await (await createDefaultRuntime({ workspace: root })).close();
    await lockEachOther(
      one.root,
      two.root,
      (rel) => `data/${rel}`,
      (rel) => `${first}/${rel}`,
    );
    await lockEachOther(
      two.root,
      one.root,
      (rel) => `data/${rel}`,
      (rel) => `${second}/${rel}`,
    );
  });

  it('makes no state in folders around that are no workspace', async () => {
    const folder = makeWorkspace({ 'sub/haft.yaml': 'version: 1\n' });
    made.push(folder);
    trustForTests(folder.path('sub'));
    const runtime = await createDefaultRuntime({ workspace: folder.path('sub') });
    const { ok } = await runtime.call({ tool: 'file_write', args: { path: 'a', content: 'x' } });
    await runtime.close();
    assert.deepEqual([ok, existsSync(folder.path('.haft'))], [true, false]);
  });
});
