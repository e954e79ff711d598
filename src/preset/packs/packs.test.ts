import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hubServer } from '../../../test/e2e/support/hub-server.ts';
import { createInprocessAdapter } from '../../adapters/inprocess/inprocess.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { boundTool } from '../../contract/tools-for-tests.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../default.ts';
import { writeTrusted } from '../trust/trust-for-tests.ts';
import { createPacks } from './open-packs.ts';
import { packEntries } from './pack-entries.ts';
import type { OpenEntry } from './pack-source.ts';

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
      const packs = createPacks({ runtime, open: opener(opened) });
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
      const packs = createPacks({ runtime, open: opener([]) });
      await assert.rejects(packs.follow({ packs: ['bad1', 'ok', 'bad2'] }), {
        reason: 'pack.invalid',
        message: /bad1[\s\S]*bad2/,
      });
    });
  });

  it('starts without it where it may, and says so', async () => {
    await withRuntime(async (runtime) => {
      const warnings: string[] = [];
      const onBroken = (message: string) => warnings.push(message);
      const packs = createPacks({ runtime, open: opener([]), onBroken });
      await packs.follow({ packs: ['bad1', 'ok'] });
      assert.equal(runtime.installations.all().length, 1);
      assert.match(warnings.join(), /bad1/);
    });
  });

  it('does not start on a server whose config says nothing', async () => {
    await withWorkspace(async (workspace) => {
      writeTrusted(join(workspace, 'haft.yaml'), 'version: 1\npacks: [{name: a, mcp: {comand: [x]}}]\n');
      await assert.rejects(createDefaultRuntime({ workspace }), {
        reason: 'pack.invalid',
        message: /"a".*comand/s,
      });
    });
  });

  const unusable = [
    { url: 'mcp.example.org' },
    { url: 'mcp.example.org:8080/mcp' },
    { url: 'http://[bad/' },
    { url: 'http://' },
    { url: 'http://a b/' },
    { url: '' },
    { url: 'ftp://example.org' },
    { url: 'http://user:hunter2@example.org/' },
    { command: ['node', 'a\u0000b.mjs'] },
    { command: ['node', 'hub.mjs'], cwd: 'a\u0000b' },
    { command: ['node', 'hub.mjs'], parts: ['a\u0000b'] },
  ];
  for (const mcp of unusable)
    it(`starts with everything else, where it may, beside a server of ${JSON.stringify(mcp)}`, async () => {
      await withWorkspace(async (workspace) => {
        const packs = [{}, { name: 'hub', mcp: { command: ['node', 'hub.mjs'] } }, { name: 'g', mcp }];
        writeTrusted(join(workspace, 'haft.yaml'), JSON.stringify({ version: 1, packs }));
        writeFileSync(join(workspace, 'hub.mjs'), hubServer('Here.'));
        const broken: string[] = [];
        const runtime = await createDefaultRuntime({
          workspace,
          onBrokenPack: (line) => void broken.push(line),
        });
        try {
          assert.ok(runtime.tools().some(({ contract }) => contract.id.startsWith('hub')));
          assert.equal((await runtime.call({ tool: 'fs_list', args: {} })).ok, true);
          assert.match(broken[0] ?? '', /packs\[0\]/);
          if ('url' in mcp) assert.match(broken[1] ?? '', /^Cannot take the pack "g": mcp\/url /);
          assert.doesNotMatch(broken.join(), /hunter2/);
        } finally {
          await runtime.close();
        }
        await assert.rejects(createDefaultRuntime({ workspace }), { reason: 'pack.invalid' });
      });
    });

  it('keeps an unforeseen error in one pack to that pack', async () => {
    await withRuntime(async (runtime) => {
      const broken: string[] = [];
      const usual = opener([]);
      const open: OpenEntry = async (entry, follow) => {
        if (entry.name === 'odd') throw new TypeError('no words for it');
        return usual(entry, follow);
      };
      const onBroken = (message: string) => broken.push(message);
      const packs = createPacks({ runtime, open, onBroken });
      await packs.follow({ packs: ['odd', 'ok'] });
      assert.equal(runtime.installations.all().length, 1);
      assert.match(broken.join(), /^Cannot take the pack "odd": reading it failed \(TypeError\)/);
    });
  });

  it('starts beside a server that is not there, and says so', async () => {
    await withWorkspace(async (workspace) => {
      const yaml = 'version: 1\npacks: [{name: gone, stdio: {command: [no-such-program-of-haft]}}]\n';
      writeTrusted(join(workspace, 'haft.yaml'), yaml);
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

  it('asks a dozen servers once, and starts none of them to list what is known', async () => {
    await withWorkspace(async (workspace) => {
      const names = Array.from({ length: 12 }, (_, n) => `hub${n}`);
      const packs = names.map((name) => ({ name, mcp: { command: ['node', 'hub.mjs'] } }));
      writeTrusted(join(workspace, 'haft.yaml'), JSON.stringify({ version: 1, packs }));
      writeFileSync(join(workspace, 'hub.mjs'), hubServer('Here.'));
      const listed = async () => {
        const warnings: string[] = [];
        const runtime = await createDefaultRuntime({ workspace, onWarning: (line) => warnings.push(line) });
        const ids = runtime.tools().map(({ contract }) => contract.id);
        await runtime.close();
        assert.deepEqual(warnings, []);
        return ids.filter((id) => id.startsWith('hub')).sort();
      };
      const all = names.map((name) => `${name}.echo`).sort();
      assert.deepEqual(await listed(), all);
      writeFileSync(join(workspace, 'hub.mjs'), 'process.exit(1);\n');
      assert.deepEqual(await listed(), all);
    });
  });

  it('takes other tools over from a server, and quarantines what nobody accepted', async () => {
    await withRuntime(async (runtime) => {
      let tell: (...ids: readonly string[]) => void = () => {};
      const warnings: string[] = [];
      let accepted = ['hub.a'];
      const open: OpenEntry = async ({ name, config }, { changed }) => {
        tell = (...ids) => void changed(name, { tools: ids.map(plainTool) }).catch(() => {});
        const health = { status: 'unverified', checkedTs: null } as const;
        const installation = { name, origin: 'test', digest: '', config, enabled: true, health };
        return [{ installation, adapter: createInprocessAdapter({}), tools: [plainTool('hub.a')] }];
      };
      const packs = createPacks({
        runtime,
        open,
        onWarning: (line) => warnings.push(line),
        lock: () => ({
          check() {},
          apply: (pack) => {
            const strange = pack.tools.filter(({ contract }) => !accepted.includes(contract.id));
            const quarantine = Object.fromEntries(strange.map(({ contract }) => [contract.id, contract.id]));
            return strange.length === 0 ? pack : { ...pack, quarantine };
          },
        }),
      });
      const policy = { packs: [{ name: 'hub', mcp: {} }] };
      const seen = () =>
        runtime
          .tools()
          .flatMap(({ contract: { id }, quarantined }) =>
            id.startsWith('hub.') ? [quarantined ? `${id} quarantined` : id] : [],
          );
      await packs.follow(policy);
      assert.deepEqual([seen(), packs.spoken().length], [['hub.a'], 0]);
      tell('hub.a');
      tell('hub.a', 'hub.b');
      await packs.follow(policy);
      assert.deepEqual([seen(), warnings], [['hub.a', 'hub.b quarantined'], ['hub.b']]);
      assert.deepEqual(
        packs.spoken().map(({ tools }) => tools.length),
        [2],
      );
      accepted = ['hub.a', 'hub.b'];
      await packs.follow(policy);
      assert.deepEqual(seen(), ['hub.a', 'hub.b']);
      tell('file_read');
      await packs.follow(policy);
      assert.deepEqual(seen(), ['hub.a', 'hub.b'], 'a name that is taken');
      assert.match(warnings.at(-1) ?? '', /Left as it was: .*file_read/);
      await packs.follow({ packs: [] });
      tell('hub.c');
      await packs.close();
      assert.deepEqual(seen(), []);
    });
  });
});

const plainTool = (id: string) => boundTool(id, 'inprocess', {});

/** Packs without tools; those whose name begins with `bad` cannot be opened. */
function opener(opened: string[]): OpenEntry {
  return async ({ name, config }) => {
    if (name.startsWith('bad')) throw fail('pack.invalid', `${name} is wrong`);
    opened.push(name);
    const health = { status: 'unverified', checkedTs: null } as const;
    const installation = { name, origin: 'test', digest: '', config, enabled: true, health };
    return [{ installation, adapter: createInprocessAdapter({}), tools: [] }];
  };
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
