// Owns: the proof that hosts that run take over edits in the folders of packs, whole or not at all, and tell their clients.
// Refuses: restarts and sleeps.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { manifest } from '../../src/loader/tool-yaml/pack-for-tests.ts';
import { eventually } from '../support/eventually.ts';
import { haft, startHaft } from './support/haft.ts';
import { type LivingHost, startLivingHost } from './support/living-host.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const HAFT_YAML = 'version: 1\npacks: [packs/p]\n';
const tool = (id: string, change: Record<string, string> = {}) =>
  manifest({
    id,
    timeoutMs: '20000',
    limits: '{ maxInputBytes: 1000, maxOutputBytes: 1000 }',
    execution: '{ kind: node, script: say.mjs }',
    ...change,
  });
const saying = (word: string) =>
  `import { word } from './word.mjs';\nconsole.log(JSON.stringify({ said: word + ${JSON.stringify(word)} }));\n`;
const FILES = {
  'haft.yaml': HAFT_YAML,
  'packs/p/a.tool.yaml': tool('p.a'),
  'packs/p/say.mjs': saying('one'),
  'packs/p/word.mjs': "export const word = '';\n",
};

async function withHost(
  use: (host: LivingHost, put: (path: string, text: string) => void, workspace: Workspace) => Promise<void>,
  { files = {}, lock = false }: { readonly files?: Record<string, string>; readonly lock?: boolean } = {},
): Promise<void> {
  const workspace = makeWorkspace({ ...FILES, ...files });
  try {
    if (lock) assert.equal((await haft(['tools', 'lock'], { cwd: workspace.root })).status, 0);
    const host = await startLivingHost(workspace.root);
    const put = (path: string, text: string) => {
      mkdirSync(join(workspace.root, path, '..'), { recursive: true });
      writeFileSync(join(workspace.root, path), text);
    };
    try {
      await use(host, put, workspace);
    } finally {
      await host.close();
    }
  } finally {
    workspace.remove();
  }
}

const said = async (host: LivingHost, id: string) => {
  const { reason, data } = await host.call(id, {});
  return reason === 'ok' ? (data as { said: string }).said : reason;
};
const becomes = (host: LivingHost, id: string, expected: string) =>
  eventually(async () => (await said(host, id)) === expected, `${id} says ${expected}\n${host.log()}`);

describe('haft serve and the folders of packs', { timeout: 180_000 }, () => {
  it('takes up manifests and scripts that are edited, added, moved and removed', () =>
    withHost(async (host, put, { root }) => {
      assert.equal(await said(host, 'p.a'), 'one');
      put('packs/p/say.mjs', saying('two'));
      await becomes(host, 'p.a', 'two');
      put('packs/p/word.mjs', "export const word = 'more ';\n");
      await becomes(host, 'p.a', 'more two');
      put('packs/p/deep/down/b.tool.yaml', tool('p.b', { execution: '{ kind: node, script: say.mjs }' }));
      put('packs/p/deep/down/say.mjs', 'console.log(JSON.stringify({ said: "three" }));\n');
      await becomes(host, 'p.b', 'three');
      put('packs/p/deep/down/say.mjs', 'console.log(JSON.stringify({ said: "four" }));\n');
      await becomes(host, 'p.b', 'four');
      rmSync(join(root, 'packs/p/deep'), { recursive: true });
      await becomes(host, 'p.b', 'tool.unknown');
      renameSync(join(root, 'packs/p'), join(root, 'packs/away'));
      renameSync(join(root, 'packs/away'), join(root, 'packs/p'));
      put('packs/p/a.tool.yaml', tool('p.a2'));
      await becomes(host, 'p.a2', 'more two');
      assert.equal(await said(host, 'p.a'), 'tool.unknown');
    }));

  it('keeps what was good where an edit is wrong, says so, and takes up the correction', () =>
    withHost(async (host, put, { root }) => {
      put('packs/p/a.tool.yaml', tool('p.a', { timeoutMs: 'soon' }));
      await eventually(() => host.log().includes('timeout.invalid'), 'the log tells the mistake');
      assert.match(host.log(), /The pack "p" stays as it was: [\s\S]*packs\/p\/a\.tool\.yaml:4:/);
      assert.equal(await said(host, 'p.a'), 'one');
      const { json } = await host.manage('GET', '/v1/health');
      const [p] = json.health.filter(({ name }: { name: string }) => name === 'p');
      assert.equal(p.status, 'degraded');
      assert.match(p.message, /timeout\.invalid/);
      const { installations } = (await host.manage('GET', '/v1/installations')).json;
      const [same] = installations.filter(({ name }: { name: string }) => name === 'p');
      assert.equal(same.health.status, p.status, 'every door says the same');
      assert.equal(same.health.message, p.message);
      rmSync(join(root, 'packs/p/say.mjs'));
      put('packs/p/a.tool.yaml', tool('p.a', { description: 'Better.' }));
      await eventually(() => host.log().includes('there is no file "say.mjs"'), 'a missing script is told');
      assert.equal(await said(host, 'p.a'), 'one');
      put('packs/p/say.mjs', saying('again'));
      await becomes(host, 'p.a', 'again');
      assert.equal((await host.ask('GET', '/v1/tools/p.a')).json.description, 'Better.');
    }));

  it('does not run what differs from haft.lock until a person accepts it', () =>
    withHost(
      async (host, put, { root }) => {
        put('packs/p/word.mjs', "export const word = 'evil ';\n");
        await becomes(host, 'p.a', 'tool.changed');
        put('packs/p/b.tool.yaml', tool('p.b'));
        await becomes(host, 'p.b', 'tool.changed');
        assert.equal((await haft(['tools', 'lock', '--accept'], { cwd: root })).status, 0);
        await becomes(host, 'p.a', 'evil one');
        await becomes(host, 'p.b', 'evil one');
      },
      { lock: true },
    ));

  it('takes up a schema that lies beside the packs, which no tool can write', () =>
    withHost(
      async (host, put, { root }) => {
        assert.equal(await said(host, 'p.a'), 'input.schema');
        const { reason } = await host.call('file_write', { path: 'schemas/in.json', content: '{}' });
        assert.equal(reason, 'path.protected');
        const shell = await host.call('shell_exec', { cmd: 'echo {} > schemas/in.json' });
        assert.notEqual(shell.data?.exit_code, 0);
        assert.match(readFileSync(join(root, 'schemas/in.json'), 'utf8'), /required/);
        assert.equal(
          (await host.call('file_write', { path: 'schemas/free.json', content: '{}' })).reason,
          'ok',
        );
        put('schemas/in.json', '{"type": "object"}');
        await becomes(host, 'p.a', 'one');
      },
      {
        files: {
          'haft.yaml': `${HAFT_YAML}shell_allow: [^echo]\n`,
          'packs/p/a.tool.yaml': tool('p.a', { inputSchema: '{ $ref: ../../schemas/in.json }' }),
          'schemas/in.json': '{"type": "object", "required": ["n"]}',
        },
      },
    ));

  it('lets calls that are under way end', () =>
    withHost(
      async (host, put, { root }) => {
        const slow = host.call('p.a', {});
        await eventually(() => existsSync(join(root, 'go/started')), 'it runs');
        put('packs/p/say.mjs', 'console.log(JSON.stringify({ said: "new" }));\n');
        await becomes(host, 'p.quick', 'new');
        put('go/now', '');
        assert.deepEqual((await slow).data, { said: 'old' });
      },
      {
        files: {
          'packs/p/a.tool.yaml': tool('p.a', {
            execution: '{ kind: node, script: slow.mjs }',
            caps: '{ filesystem: { write: [go] } }',
          }),
          'packs/p/quick.tool.yaml': tool('p.quick'),
          'packs/p/slow.mjs':
            "import { existsSync, writeFileSync } from 'node:fs';\nwriteFileSync('go/started', '');\nconst look = () => existsSync('go/now') ? console.log(JSON.stringify({ said: 'old' })) : setTimeout(look, 20);\nlook();\n",
          'go/.keep': '',
        },
      },
    ));

  it('keeps what was accepted while it is frozen', async () => {
    const workspace = makeWorkspace(FILES);
    try {
      assert.equal((await haft(['tools', 'lock'], { cwd: workspace.root })).status, 0);
      const host = await startLivingHost(workspace.root, ['--frozen']);
      try {
        workspace.put('packs/p/word.mjs', "export const word = 'evil ';\n");
        await eventually(() => host.log().includes('tools differ from haft.lock'), 'it is told');
        assert.equal(await said(host, 'p.a'), 'one');
      } finally {
        await host.close();
      }
    } finally {
      workspace.remove();
    }
  });
});

describe('haft mcp and the folders of packs', { timeout: 60_000 }, () => {
  it('tells its client that there are other tools', async () => {
    const workspace = makeWorkspace(FILES);
    const child = startHaft(['mcp'], { cwd: workspace.root });
    try {
      const heard: string[] = [];
      createInterface(child.stdout).on('line', (line) => heard.push(line));
      const send = (message: object) =>
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      const clientInfo = { name: 'test', version: '1' };
      send({
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
      });
      await eventually(() => heard.length > 0, 'it answers');
      send({ method: 'notifications/initialized' });
      send({ id: 2, method: 'tools/list' });
      await eventually(() => heard.some((line) => line.includes('"id":2')), 'it lists');
      workspace.put('packs/p/b.tool.yaml', tool('p.b'));
      await eventually(
        () => heard.some((line) => line.includes('notifications/tools/list_changed')),
        'it tells',
      );
      send({ id: 3, method: 'tools/list' });
      await eventually(
        () => heard.some((line) => line.includes('"id":3') && line.includes('p-b')),
        'p.b is there',
      );
    } finally {
      child.kill('SIGTERM');
      workspace.remove();
    }
  });
});
