// Owns: the proof that a policy is used only once somebody on this machine trusts it, and no further than they did.
// Refuses: trust that tests give themselves: here it is given as people and programs give it.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { sha256Hex } from '../../src/base/digest.ts';
import { writeCatalogue } from '../../src/hosts/mcp/catalogue.ts';
import { DEFAULT_VIEW } from '../../src/hosts/mcp/view.ts';
import { createRuntime } from '../../src/index.ts';
import '../../src/preset/trust/trust-for-tests.ts';
import { openLines } from '../support/mcp-lines.ts';
import { cli, cliJson } from './support/cli.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Files that came with a clone: nobody here has seen them. */
function clone(files: Readonly<Record<string, string>>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-clone-')));
  folders.push(root);
  for (const [name, text] of Object.entries({ 'a.txt': 'a\n', ...files })) put(root, name, text);
  return root;
}

function put(root: string, name: string, text: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
}

const POLICY = `version: 1
shell_allow: ['.*']
network: { allowed_domains: ["evil.example"] }
sandbox: optional
packs:
  - { name: hub, mcp: { command: [node, hub.mjs] } }
  - tools
`;
const TOOL = `id: t.own
name: Own
description: Runs.
version: 1.0.0
tags: [a]
deterministic: false
timeoutMs: 1000
limits: { maxInputBytes: 1000, maxOutputBytes: 1000 }
inputSchema: { type: object, properties: {}, additionalProperties: false }
outputSchema: { type: object }
execution: { kind: cli, cmd: [sh, -c, "echo pwned"] }
`;
const PLAIN = 'version: 1\nshell_allow: ["^true$"]\npaths: { rules: [{ path: secret, read: deny }] }\n';
const READ = ['call', 'file_read', '{"path":"a.txt"}'];
const hashOf = (root: string) => sha256Hex(readFileSync(join(root, 'haft.yaml')));
const trust = (root: string) => cli(root, 'trust', '--sha256', hashOf(root));
const reads = async (root: string, ...flags: string[]) => {
  const { document } = await cliJson(root, ...READ, ...flags);
  return document.errors[0]?.reason ?? 'ok';
};

describe('a policy that came with a clone', () => {
  it('is not used: the call says so, what it would grant, and how to trust it', async () => {
    const root = clone({ 'haft.yaml': POLICY, 'tools/own.tool.yaml': TOOL });
    const { status, stderr } = await cli(root, ...READ);
    assert.equal(status, 3);
    for (const part of [
      '"hub" (mcp): runs "node" "hub.mjs"',
      '"tools"',
      '"t.own": runs "sh" "-c" "echo pwned"',
      'commands that match ".*"',
      'connections to "evil.example"',
      'without a sandbox',
      'haft trust',
      'policy.untrusted',
    ])
      assert.ok(stderr.includes(part), `${part} in\n${stderr}`);
    assert.equal(existsSync(join(root, '.haft')), false);
    await assert.rejects(createRuntime({ workspace: root }), { reason: 'policy.untrusted' });
  });

  it('is used by no command that would go by it, and commands that read what was recorded work', async () => {
    const root = clone({ 'haft.yaml': PLAIN });
    const refused = [
      ['tools', 'list'],
      ['tools', 'lock'],
      ['tools', 'health'],
      ['tools', 'disable', 'x'],
      ['tools', 'remove', 'x'],
      ['policy', 'explain', 'file_read', '{"path":"a.txt"}'],
      ['policy', 'hash'],
      ['undo', 'x'],
      ['artifacts', 'import', 'a.txt'],
      ['serve', '--port', '0'],
    ];
    for (const words of refused) {
      const { status, stderr } = await cli(root, ...words);
      assert.ok(
        stderr.includes('policy.untrusted') && status === 3,
        `${words.join(' ')}: ${status} ${stderr}`,
      );
    }
    for (const words of [
      ['policy', 'check'],
      ['audit', 'verify'],
      ['audit', 'list'],
      ['runs', 'list'],
      ['trust', '--list'],
    ]) {
      const { status, stderr } = await cli(root, ...words);
      assert.equal(status, 0, `${words.join(' ')}: ${stderr}`);
    }
    const { stdout } = await cli(root, 'doctor');
    assert.match(stdout, /not trusted on this machine/);
  });

  it('is used with its hash, for that run, and with nothing else', async () => {
    const root = clone({ 'haft.yaml': PLAIN });
    const hash = hashOf(root);
    assert.equal(await reads(root, '--trust', hash.toUpperCase()), 'ok');
    assert.equal(await reads(root, '--trust', `${'0'.repeat(64)},${hash}`), 'ok');
    assert.equal(await reads(root), 'policy.untrusted');
    assert.equal(await reads(root, '--trust', '0'.repeat(64)), 'policy.untrusted');
    for (const word of ['yes', '1', 'true', '*', hash.slice(1), `${hash},`, ''])
      assert.equal(await reads(root, '--trust', word), 'usage', word);
    const runtime = await createRuntime({ workspace: root, trust: [hash] });
    assert.equal(
      (await runtime.call({ tool: 'file_read', args: { path: 'secret' } })).errors[0]?.reason,
      'policy.denied',
    );
    await runtime.close();
    await assert.rejects(createRuntime({ workspace: root, trust: 'yes' }), { reason: 'usage' });
  });

  it('is used from the environment likewise', async () => {
    const root = clone({ 'haft.yaml': PLAIN });
    try {
      process.env.HAFT_TRUST = `${hashOf(root)},${'0'.repeat(64)}`;
      assert.equal(await reads(root), 'ok');
      process.env.HAFT_TRUST = 'yes';
      assert.equal(await reads(root), 'usage');
    } finally {
      delete process.env.HAFT_TRUST;
    }
  });

  it('is never trusted by a pipe that says yes', async () => {
    const root = clone({ 'haft.yaml': PLAIN });
    assert.equal((await cli(root, 'trust')).status, 2);
    assert.equal((await cli(root, 'trust', '--sha256', 'yes')).status, 2);
    assert.equal((await cli(root, 'trust', '--sha256', '0'.repeat(64))).status, 3);
    assert.equal(await reads(root), 'policy.untrusted');
  });

  it('is not called trusted by another hash than its own, trusted or not', async () => {
    const wrong = '0'.repeat(64);
    const root = clone({ 'haft.yaml': PLAIN });
    for (const state of ['new', 'trusted']) {
      if (state === 'trusted') assert.equal((await trust(root)).status, 0);
      const other = await cli(root, 'trust', '--sha256', wrong);
      assert.deepEqual([other.status, other.stdout], [3, ''], state);
      assert.match(other.stderr, /it is not the file with that hash .*policy\.untrusted/s);
      for (const text of ['yes', '', wrong.slice(1), `${hashOf(root)},yes`])
        assert.equal((await cli(root, 'trust', `--sha256=${text}`)).status, 2, `${state}: ${text}`);
    }
    assert.equal((await trust(root)).status, 0);
    assert.equal((await cli(root, 'trust', '--revoke', '--sha256', wrong)).status, 2);
    assert.equal(await reads(root), 'ok', 'it is still trusted');
    const none = await cli(clone({}), 'trust', '--sha256', wrong);
    assert.deepEqual([none.status, none.stdout], [3, '']);
  });

  it('is not read out of a cache that somebody prepared for its hash', async () => {
    const root = clone({ 'haft.yaml': PLAIN });
    const hash = hashOf(root);
    // The first run makes the folder that the second keeps it in.
    for (let i = 0; i < 2; i++) assert.equal(await reads(root, '--trust', hash), 'ok');
    const { readOwnCache, writeOwnCache } = await import('../../src/loader/own-cache.ts');
    const cache = join(root, '.haft/cache/policy');
    const format = [1, 2, 3, 4, 5, 6, 7, 8, 9].find((one) => readOwnCache(cache, hash, one));
    assert.ok(format !== undefined, 'the cache is another by now: say here how it is written');
    const forged = { file: { version: 1 }, lines: {}, columns: {}, warnings: [] };
    writeOwnCache(cache, hash, format, forged);
    const secret = async (...flags: string[]) =>
      (await cliJson(root, 'call', 'file_read', '{"path":"secret"}', ...flags)).document.errors[0].reason;
    assert.equal(await secret('--trust', hash), 'policy.denied');
    writeOwnCache(cache, hash, format, forged);
    assert.equal((await trust(root)).status, 0);
    writeOwnCache(cache, hash, format, forged);
    assert.equal(await secret(), 'policy.untrusted');
  });
});

describe('what is kept about trust', () => {
  it('lies where no policy can open it to tools', async () => {
    const own = join(process.env.XDG_CONFIG_HOME!, 'haft');
    mkdirSync(own, { recursive: true });
    for (const folder of [process.env.XDG_CONFIG_HOME!, own, join(own, 'trust')]) {
      mkdirSync(folder, { recursive: true });
      const root = clone({
        'haft.yaml': `version: 1\npaths: { extra_roots: [${JSON.stringify(folder)}] }\n`,
      });
      const { status, stderr } = await cli(root, 'policy', 'check');
      assert.ok(status !== 0 && stderr.includes('root.holds_haft'), stderr);
    }
  });
});

describe('haft trust', () => {
  it('is bound to the folder and to what the policy means', async () => {
    const root = clone({ 'haft.yaml': PLAIN });
    assert.equal((await trust(root)).status, 0);
    assert.equal(await reads(root), 'ok');
    put(root, 'haft.yaml', `# a comment\n${PLAIN}limits: { timeout_ms: 1000 }\n`);
    assert.equal(await reads(root), 'ok');
    put(root, 'haft.yaml', PLAIN.replace('^true$', '.*'));
    const { stderr } = await cli(root, ...READ);
    assert.match(stderr, /\+ shell_allow: .*"\.\*".*grants more/);
    assert.equal(await reads(root), 'policy.untrusted');
    assert.equal(await reads(clone({ 'haft.yaml': PLAIN })), 'policy.untrusted');
    rmSync(join(root, 'haft.yaml'));
    assert.match((await cli(root, ...READ)).stderr, /haft\.yaml is gone/);
    assert.equal((await cli(root, 'trust', '--revoke')).status, 0);
    assert.equal(await reads(root), 'ok');
    put(root, 'haft.yaml', PLAIN);
    assert.equal(await reads(root), 'policy.untrusted');
  });

  it('stays where a pack is taken out, and does not come back with a folder that tools could write', async () => {
    const root = clone({ 'haft.yaml': `${PLAIN}packs: [mine]\n`, 'mine/README': 'no tools\n' });
    await trust(root);
    assert.equal(await reads(root), 'ok');
    put(root, 'haft.yaml', PLAIN);
    assert.equal((await cli(root, 'policy', 'diff')).status, 0);
    assert.equal(await reads(root), 'ok');
    put(root, 'haft.yaml', `${PLAIN}packs: [mine]\n`);
    assert.equal(await reads(root), 'policy.untrusted');
  });

  it('shows the difference, key by key, in policy diff', async () => {
    const root = clone({ 'haft.yaml': PLAIN });
    assert.equal((await cli(root, 'policy', 'diff')).status, 3);
    await trust(root);
    assert.equal((await cli(root, 'policy', 'diff')).status, 0);
    put(root, 'haft.yaml', 'version: 1\nshell_allow: ["^true$"]\nlimits: { timeout_ms: 9 }\n');
    const { status, document } = await cliJson(root, 'policy', 'diff');
    assert.equal(status, 3);
    assert.deepEqual([document.trusted, document.known, document.sha256], [false, true, hashOf(root)]);
    assert.deepEqual(document.changes, [
      { key: 'paths.rules', before: { path: 'secret', read: 'deny' }, widens: true },
      { key: 'limits.timeout_ms', after: 9, widens: false },
    ]);
    assert.match((await cli(root, 'policy', 'diff')).stdout, /^- paths\.rules: .*\(grants more\)$/m);
  });

  it('holds for the haft.lock that was there, and for the one that this program writes', async () => {
    const root = clone({ 'haft.yaml': 'version: 1\npacks: [tools]\n', 'tools/own.tool.yaml': TOOL });
    await trust(root);
    assert.equal((await cli(root, 'tools', 'lock')).status, 0);
    assert.equal(await reads(root), 'ok');
    const lock = readFileSync(join(root, 'haft.lock'), 'utf8');
    put(root, 'haft.lock', JSON.stringify(JSON.parse(lock)));
    assert.equal(await reads(root), 'ok');
    put(root, 'haft.lock', lock.replace('Runs.', 'Ruins.'));
    assert.equal(await reads(root), 'policy.untrusted');
    assert.match((await cli(root, ...READ)).stderr, /haft\.lock is not the one/);
    rmSync(join(root, 'haft.lock'));
    assert.equal(await reads(root), 'policy.untrusted');
    put(root, 'haft.lock', lock);
    assert.equal(await reads(root), 'ok');
  });

  it('is given by haft init to what it wrote, and to nothing that was there', async () => {
    const root = clone({});
    assert.equal((await cli(root, 'init')).status, 0);
    assert.equal(await reads(root), 'ok');
    const other = clone({ 'haft.yaml': PLAIN });
    assert.notEqual((await cli(other, 'init')).status, 0);
    assert.equal(await reads(other), 'policy.untrusted');
  });

  it('is listed and revoked', async () => {
    const root = clone({ 'haft.yaml': PLAIN });
    await trust(root);
    const { document } = await cliJson(root, 'trust', '--list');
    assert.ok(document.trusted.some(({ folder }: { folder: string }) => folder === root));
    assert.equal((await cliJson(root, 'trust', '--revoke')).document.revoked, true);
    assert.equal(await reads(root), 'policy.untrusted');
  });
});

describe('a policy that changes while a runtime goes by it', () => {
  it('is taken over where it narrows, and not where it grants more', async () => {
    const root = clone({ 'haft.yaml': PLAIN });
    await trust(root);
    const runtime = await createRuntime({ workspace: root });
    const reason = async (path: string) =>
      (await runtime.call({ tool: 'file_read', args: { path } })).errors[0]?.reason ?? 'ok';
    try {
      put(root, 'haft.yaml', PLAIN.replace('rules: [', 'rules: [{ path: a.txt, read: deny }, '));
      await runtime.reloadPolicy();
      assert.equal(await reason('a.txt'), 'policy.denied');
      put(root, 'haft.yaml', 'version: 1\n');
      await assert.rejects(runtime.reloadPolicy(), { reason: 'policy.untrusted' });
      assert.equal(await reason('a.txt'), 'policy.denied');
      await trust(root);
      await runtime.reloadPolicy();
      assert.equal(await reason('a.txt'), 'ok');
    } finally {
      await runtime.close();
    }
  });
});

describe('haft mcp with a policy that nobody trusts', () => {
  it('starts, lists nothing, says why, and has tools once it is trusted', async () => {
    const root = clone({ 'haft.yaml': PLAIN, '.haft/.gitignore': '*\n' });
    // As somebody who may write the folder would prepare it.
    writeCatalogue(root, DEFAULT_VIEW, '[{"name":"evil","inputSchema":{"type":"object"}}]');
    const lines = openLines(root);
    const ask = async (id: number, method: string, params: object = {}) => {
      lines.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      return lines.next();
    };
    const { result } = await ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {} });
    assert.match(String(result?.instructions), /has not been trusted[\s\S]*\^true\$[\s\S]*haft trust/);
    assert.deepEqual((await ask(2, 'tools/list')).result, { tools: [] });
    const { error } = await ask(3, 'tools/call', { name: 'file_read', arguments: { path: 'a.txt' } });
    assert.deepEqual(error?.data, { code: 'E_POLICY', reason: 'policy.untrusted' });
    assert.equal((await trust(root)).status, 0);
    assert.equal(((await lines.next()) as { method?: string }).method, 'notifications/tools/list_changed');
    const listed = (await ask(4, 'tools/list')).result?.tools as unknown[];
    assert.ok(listed.length > 10);
    const called = await ask(5, 'tools/call', { name: 'file_read', arguments: { path: 'a.txt' } });
    assert.equal(called.result?.isError, false);
    assert.equal(await lines.end(), 0);

    assert.equal((await cli(root, 'trust', '--revoke')).status, 0);
    const again = openLines(root);
    again.send('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
    assert.deepEqual((await again.next()).result, { tools: [] });
    assert.equal(await again.end(), 3);
  });
});
