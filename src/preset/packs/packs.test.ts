import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createInprocessAdapter } from '../../adapters/inprocess/inprocess.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../default.ts';
import { createPacks, type OpenEntry } from './open-packs.ts';
import { packEntries } from './pack-entries.ts';

describe('the packs of haft.yaml', () => {
  const good: readonly [string | JsonObject, JsonObject][] = [
    ['packs/ci', { kind: 'path', name: 'ci', path: 'packs/ci', config: {}, enabled: true }],
    ['./My-Packs', { kind: 'path', name: 'my_packs', path: './My-Packs', config: {}, enabled: true }],
    [
      { path: 'x', name: 'y', config: { a: 1 }, enabled: false },
      { kind: 'path', name: 'y', path: 'x', config: { a: 1 }, enabled: false },
    ],
    [
      { name: 'hub', mcp: { url: 'https://example.org/mcp' } },
      { kind: 'mcp', name: 'hub', config: { url: 'https://example.org/mcp' }, enabled: true },
    ],
  ];
  for (const [pack, expected] of good) {
    it(`takes ${JSON.stringify(pack)}`, () => assert.deepEqual(packEntries({ packs: [pack] }), [expected]));
  }

  const bad: readonly [JsonObject, RegExp][] = [
    [{}, /one of path, mcp, stdio/],
    [{ name: 'a', mcp: {}, stdio: {} }, /one of path, mcp, stdio/],
    [{ mcp: { command: ['x'] } }, /needs a name/],
    [{ name: 'A-b', mcp: {} }, /needs a name/],
    [{ name: 'a', mcp: {}, nmae: 1 }, /"nmae" is no key/],
    [{ name: 'a', mcp: 'x' }, /mcp is a map/],
    [{ name: 'a', mcp: {}, config: {} }, /said under mcp/],
    [{ path: 'a', enabled: 'yes' }, /enabled is true or false/],
    [{ path: 'a', config: [] }, /config is a map/],
  ];
  for (const [pack, message] of bad) {
    it(`refuses ${JSON.stringify(pack)}`, () => {
      assert.throws(() => packEntries({ packs: [pack] }), { reason: 'pack.invalid', message });
    });
  }

  it('refuses two packs of one name', () => {
    assert.throws(() => packEntries({ packs: ['a/x', 'b/x'] }), { reason: 'pack.invalid', message: /"x"/ });
  });
});

describe('following a policy', () => {
  it('opens what is new, closes what is gone, and leaves alone what stays', async () => {
    await withRuntime(async (runtime) => {
      const opened: string[] = [];
      const packs = createPacks({ runtime, openers: openers(opened) });
      await packs.follow({ packs: ['a', 'b'] });
      await packs.follow({ packs: ['b', 'c', { path: 'd', enabled: false }] });
      assert.deepEqual(opened, ['a', 'b', 'c']);
      assert.deepEqual(
        runtime.installations.all().map(({ installation }) => installation.name),
        ['b', 'c'],
      );
      await packs.follow({});
      assert.deepEqual(runtime.installations.all(), []);
    });
  });

  it('refuses to start with a pack that is wrong, and names every one', async () => {
    await withRuntime(async (runtime) => {
      const packs = createPacks({ runtime, openers: openers([]) });
      await assert.rejects(packs.follow({ packs: ['bad1', 'ok', 'bad2'] }), {
        reason: 'pack.invalid',
        message: /bad1[\s\S]*bad2/,
      });
    });
  });

  it('starts without it where it may, and says so', async () => {
    await withRuntime(async (runtime) => {
      const warnings: string[] = [];
      const onWarning = (message: string) => warnings.push(message);
      const packs = createPacks({ runtime, openers: openers([]), quarantine: true, onWarning });
      await packs.follow({ packs: ['bad1', 'ok'] });
      assert.equal(runtime.installations.all().length, 1);
      assert.match(warnings.join(), /Left out: .*bad1/);
    });
  });

  it('does not start on a server whose config says nothing', async () => {
    await withWorkspace(async (workspace) => {
      writeFileSync(join(workspace, 'haft.yaml'), 'version: 1\npacks: [{name: a, mcp: {comand: [x]}}]\n');
      await assert.rejects(createDefaultRuntime({ workspace }), {
        reason: 'pack.invalid',
        message: /"a".*comand/s,
      });
    });
  });

  it('starts beside a server that is not there, and says so', async () => {
    await withWorkspace(async (workspace) => {
      const yaml = 'version: 1\npacks: [{name: gone, stdio: {command: [no-such-program-of-haft]}}]\n';
      writeFileSync(join(workspace, 'haft.yaml'), yaml);
      const warnings: string[] = [];
      const runtime = await createDefaultRuntime({ workspace, onWarning: (line) => warnings.push(line) });
      try {
        assert.match(warnings.join(), /"gone" are not known/);
        assert.equal((await runtime.call({ tool: 'fs_list', args: {} })).ok, true);
      } finally {
        await runtime.close();
      }
    });
  });
});

/** Packs without tools; those whose name begins with `bad` cannot be opened. */
function openers(opened: string[]): Parameters<typeof createPacks>[0]['openers'] {
  const open: OpenEntry = async ({ name, config }) => {
    if (name.startsWith('bad')) throw fail('pack.invalid', `${name} is wrong`);
    opened.push(name);
    const health = { status: 'unverified', checkedTs: null } as const;
    const installation = { name, origin: 'test', digest: '', config, enabled: true, health };
    return [{ installation, adapter: createInprocessAdapter({}), tools: [] }];
  };
  return { path: open, mcp: open, stdio: open };
}

async function withWorkspace(use: (workspace: string) => Promise<void>): Promise<void> {
  const workspace = mkdtempSync(join(tmpdir(), 'haft-packs-'));
  try {
    await use(workspace);
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

function withRuntime(use: (runtime: DefaultRuntime) => Promise<void>): Promise<void> {
  return withWorkspace(async (workspace) => {
    const runtime = await createDefaultRuntime({ workspace });
    try {
      await use(runtime);
    } finally {
      await runtime.close();
    }
  });
}
