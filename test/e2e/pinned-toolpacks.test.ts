// Owns: the proof that haft.lock pins the code of toolpacks: an edit is quarantined, refused under --frozen, and shown.
// Refuses: engines; runs take the programs of the machine.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { haft } from './support/haft.ts';
import { type LivingHost, startLivingHost } from './support/living-host.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const MODULE = 'my_tool/toolpack.ts';
const [BEFORE, AFTER] = ['words += NF;', 'words += 10 * NF;'] as const;

interface Site extends Workspace {
  run(...args: readonly string[]): ReturnType<typeof haft>;
  good(...args: readonly string[]): ReturnType<typeof haft>;
  /** The count of words, or why there is none. Each text is another run: nothing is replayed. */
  count(text: string, env?: Readonly<Record<string, string>>): Promise<number | string>;
  edit(path?: string, from?: string, to?: string): void;
}

async function withToolpack(use: (site: Site) => Promise<void>): Promise<void> {
  const workspace = makeWorkspace();
  const { root, path, put } = workspace;
  const run: Site['run'] = (...args) => haft(args, { cwd: root });
  const good: Site['good'] = async (...args) => {
    const ran = await run(...args);
    assert.equal(ran.status, 0, `${args.join(' ')}: ${ran.stdout}${ran.stderr}`);
    return ran;
  };
  try {
    await good('init');
    await good('toolpack', 'new', 'my_tool');
    await use({
      ...workspace,
      run,
      good,
      async count(text, env = {}) {
        const ran = await haft(['call', 'my_tool', JSON.stringify({ text }), '--json'], { cwd: root, env });
        const { ok, data, errors } = JSON.parse(ran.stdout);
        return ok ? data.result.words : errors[0].reason;
      },
      edit(file = MODULE, from = BEFORE, to = AFTER) {
        const text = readFileSync(path(file), 'utf8');
        assert.ok(text.includes(from));
        put(file, text.replace(from, to));
      },
    });
  } finally {
    workspace.remove();
  }
}

async function withHost(
  root: string,
  args: readonly string[],
  use: (count: (text: string) => Promise<number | string>, host: LivingHost) => Promise<void>,
): Promise<void> {
  const host = await startLivingHost(root, args);
  try {
    await use(async (text) => {
      const { data, reason } = await host.call('my_tool', { text });
      return reason === 'ok' ? data.result.words : reason;
    }, host);
  } finally {
    await host.close();
  }
}

describe('haft.lock and a toolpack', { timeout: 300_000 }, () => {
  it('pins every file that its code is shown: an edit is quarantined, named, refused when frozen, and accepted', () =>
    withToolpack(async ({ run, good, count, edit, path }) => {
      await good('tools', 'lock');
      const { packs, tools } = JSON.parse(readFileSync(path('haft.lock'), 'utf8'));
      assert.deepEqual(Object.keys(packs.my_tool.files), ['package.json', 'toolpack.ts']);
      assert.match(tools.my_tool.code, /^[0-9a-f]{64}$/);
      assert.equal((await run('tools', 'lock', '--frozen')).status, 0);
      assert.equal(await count('a b', { HAFT_FROZEN: '1' }), 2);

      edit();
      const frozen = await run('tools', 'lock', '--frozen');
      assert.equal(frozen.status, 3, frozen.stdout);
      const shown = await run('tools', 'lock');
      assert.equal(shown.status, 3);
      assert.match(shown.stdout, /~ pack my_tool: changed\n {4}files\["toolpack\.ts"\]\n/);
      assert.match(shown.stdout, /~ my_tool: changed\n {4}code\n/);
      assert.equal(await count('a b c'), 'tool.changed');
      assert.equal(await count('a b'), 'tool.changed', 'nor is a run of before replayed in its name');
      assert.equal(await count('a b c', { HAFT_FROZEN: '1' }), 'lockfile.drift');
      const list = await run('tools', 'list', '--frozen');
      assert.equal(list.status, 3);
      assert.match(list.stderr, /~ my_tool: changed/);

      await good('tools', 'lock', '--accept');
      assert.equal(await count('a b c', { HAFT_FROZEN: '1' }), 30);
    }));

  it('pins what lies beside the module and what it depends on, and nothing that its code is not shown', () =>
    withToolpack(async ({ run, good, count, edit, put }) => {
      const name = '"name": "my_tool",';
      edit('my_tool/package.json', name, `${name}\n  "dependencies": { "dep": "1.0.0" },`);
      put('my_tool/node_modules/dep/package.json', '{"name":"dep","type":"module","main":"index.js"}');
      put('my_tool/node_modules/dep/index.js', 'export const one = 1;\n');
      put('my_tool/beside.ts', 'export const two = 2;\n');
      await good('tools', 'lock', '--accept');
      for (const path of [
        'README.md',
        'toolpack.test.ts',
        'calls/second.json',
        '.editor/x',
        'node_modules/other/x',
      ])
        put(`my_tool/${path}`, '{}');
      assert.equal((await run('tools', 'lock', '--frozen')).status, 0);
      assert.equal(await count('a b'), 2);
      for (const [path, shown] of [
        ['beside.ts', 'beside.ts'],
        ['new.ts', 'new.ts'],
        ['node_modules/dep/index.js', 'node_modules/'],
      ] as const) {
        put(`my_tool/${path}`, 'export const other = 0;\n');
        assert.equal(await count('a b'), 'tool.changed', path);
        assert.ok((await run('tools', 'lock')).stdout.includes(`files["${shown}"]`), path);
        await good('tools', 'lock', '--accept');
        assert.equal(await count('a b'), 2);
      }
    }));

  it('holds for a host that runs: an edit is quarantined until it is accepted', () =>
    withToolpack(async ({ root, good, edit }) => {
      await good('tools', 'lock');
      await withHost(root, [], async (count, host) => {
        assert.equal(await count('a'), 1);
        edit();
        await eventually(async () => (await count('a b')) === 'tool.changed', host.log);
        assert.equal(await count('a'), 'tool.changed');
        await good('tools', 'lock', '--accept');
        await eventually(async () => (await count('a b c')) === 30, host.log);
        edit(MODULE, AFTER, BEFORE);
        await eventually(async () => (await count('a b c d')) === 'tool.changed', host.log);
      });
    }));

  it('lets a frozen host go on with what was accepted, called before the edit or not', () =>
    withToolpack(async ({ root, good, edit }) => {
      await good('tools', 'lock');
      for (const isCalled of [true, false]) {
        await withHost(root, ['--frozen'], async (count, host) => {
          if (isCalled) assert.equal(await count('a'), 1);
          edit();
          await eventually(() => host.log().includes('stays as it was'), host.log);
          assert.equal(await count(isCalled ? 'a b' : 'a b c'), isCalled ? 2 : 3);
          const { json } = await host.manage('GET', '/v1/health');
          assert.match(JSON.stringify(json), /degraded/);
          edit(MODULE, AFTER, BEFORE);
        });
      }
    }));

  it('waits to be accepted once where haft.lock was written before it held the code', () =>
    withToolpack(async ({ run, good, count, path, put }) => {
      await good('tools', 'lock');
      const lock = JSON.parse(readFileSync(path('haft.lock'), 'utf8'));
      delete lock.packs.my_tool.files;
      delete lock.tools.my_tool.code;
      lock.tools.my_tool.digest = '0'.repeat(64);
      put('haft.lock', JSON.stringify(lock));
      const ran = await run('call', 'my_tool', '{"text":"a b"}');
      assert.match(ran.stderr, /haft\.lock does not hold its code yet.*--accept/);
      assert.equal(await count('a b', { HAFT_FROZEN: '1' }), 'lockfile.drift');
      const shown = await run('tools', 'lock');
      assert.equal(shown.status, 3);
      assert.match(shown.stdout, /~ my_tool: haft\.lock does not hold its code yet\n/);
      await good('tools', 'lock', '--accept');
      assert.equal(await count('a b', { HAFT_FROZEN: '1' }), 2);
    }));
});
