// Owns: the proof that below another workspace of this user the policy of that one holds as well.
// Refuses: how rules are read from further down; src/contract/shift-glob.test.ts has that.
import assert from 'node:assert/strict';
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { runForTests } from '../../src/hosts/cli/run-for-tests.ts';
import { trustForTests, writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { revokeTrust } from '../../src/preset/trust/trust-question.ts';
import { cli, cliJson } from './support/cli.ts';
import { makeWorkspace } from './support/workspace.ts';

const WIDE = `version: 1
shell_allow: ['.*']
network: { allowed_domains: ["*.example"] }
git: { allow_push: true }
sandbox: optional
limits: { max_output_bytes: 100000 }
`;
const made: { remove(): void }[] = [];
after(() => {
  for (const one of made) one.remove();
});

/** An outer workspace with this policy, and one in `sub` that grants all it can; both are trusted. */
function nested(outer: string, inner = WIDE, files: Readonly<Record<string, string>> = {}) {
  const workspace = makeWorkspace({
    'haft.yaml': outer,
    'sub/a.txt': 'a\n',
    'sub/secret.txt': 's\n',
    'data/d.txt': 'd\n',
    ...files,
  });
  made.push(workspace);
  const sub = workspace.path('sub');
  writeTrusted(workspace.path('sub/haft.yaml'), inner);
  const reason = async (tool: string, args: object) => {
    const { document } = await cliJson(sub, 'call', tool, JSON.stringify(args));
    return document.errors[0]?.reason ?? 'ok';
  };
  return {
    ...workspace,
    sub,
    reason,
    rule: async (tool: string, args: object) =>
      (await cliJson(sub, 'policy', 'explain', tool, JSON.stringify(args))).document,
  };
}

describe('a workspace below another', () => {
  it('says at every door that a pack is not opened because the outer policy does not name it', async () => {
    const inner = 'version: 1\npacks: [packs/p, { name: hub, stdio: { command: [sh] } }]\n';
    const { sub, path } = nested('version: 1\n', inner, { 'sub/packs/p/README': '' });
    const told = (name: string) => `the pack "${name}" is not opened: ../haft.yaml holds here as well`;
    const tools = await cli(sub, 'tools', 'list');
    const health = await cli(sub, 'tools', 'health');
    const checked = await cli(sub, 'policy', 'check');
    const doctor = await cli(sub, 'doctor');
    for (const name of ['packs/p', 'hub'])
      for (const text of [tools.stderr, health.stderr, checked.stderr, doctor.stdout])
        assert.ok(text.includes(told(name)), `${name}: ${text}`);
    assert.deepEqual([tools.status, checked.status], [0, 0]);
    writeTrusted(path('haft.yaml'), 'version: 1\npacks: [sub/packs/p]\n');
    const { stderr } = await cli(sub, 'policy', 'check');
    assert.ok(!stderr.includes(told('packs/p')) && stderr.includes(told('hub')), stderr);
  });

  it('cannot do what the outer policy does not grant', async () => {
    const { reason } = nested('version: 1\nlimits: { max_output_bytes: 50 }\n');
    assert.equal(await reason('shell_exec', { cmd: 'true' }), 'shell.not_allowed');
    assert.equal(await reason('curl', { url: 'https://a.example/' }), 'http.not_allowed');
    assert.equal(await reason('file_read', { path: 'a.txt' }), 'output.too_large');
  });

  it('keeps to the outer rules about paths and tools, as they read from there', async () => {
    const { reason } = nested(`version: 1
shell_allow: ['^true$']
tools: { rules: [{ tool: fs_delete, decision: ask }] }
paths: { rules: [{ path: sub/secret.txt, read: deny }, { path: "**/*.pem", write: deny }, { path: a.txt, read: deny }] }
`);
    assert.equal(await reason('file_read', { path: 'secret.txt' }), 'policy.denied');
    assert.equal(await reason('file_write', { path: 'x.pem', content: '' }), 'policy.denied');
    assert.equal(await reason('fs_delete', { path: 'a.txt' }), 'approval.pending');
    assert.equal(await reason('file_read', { path: 'a.txt' }), 'ok');
    assert.equal(await reason('shell_exec', { cmd: 'true' }), 'ok');
    assert.equal(await reason('shell_exec', { cmd: 'id' }), 'shell.not_allowed');
    assert.equal(await reason('shell_exec', { cmd: 'cat secret.txt' }), 'shell.not_allowed');
  });

  it('says which policy decided', async () => {
    const { sub } = nested('version: 1\npaths: { rules: [{ path: sub/secret.txt, read: deny }] }\n');
    const { stderr } = await cli(sub, 'call', 'file_read', '{"path":"secret.txt"}');
    assert.match(stderr, /paths\.rules\[0\] of \.\.\/haft\.yaml says deny/);
  });

  it('cites rules by their number in the file that has them, whatever is left of it from here', async () => {
    const outer = `version: 1
paths: { rules: [{ path: elsewhere, read: deny }, { path: "**/*.log", read: deny }, { path: sub/secret.txt, read: deny }, { path: data/d.txt, write: deny }] }
`;
    const roots = 'version: 1\npaths: { extra_roots: ["/var", "../data"] }\n';
    const { rule, path } = nested(outer, roots);
    const cited = async (tool: string, args: object) => (await rule(tool, args)).decision.rule;
    assert.equal(await cited('file_read', { path: 'secret.txt' }), 'outer:paths.rules[2]');
    const written = { path: path('data/d.txt'), content: '' };
    assert.equal(await cited('file_write', written), 'outer:paths.rules[3]');
    const { all } = await rule('file_read', { path: path('data/d.txt') });
    assert.ok(
      all.some((one: { rule: string }) => one.rule === 'paths.extra_roots[1]'),
      JSON.stringify(all),
    );
  });

  it('reaches no folder beside itself that the outer one does not reach, and keeps to its rules there', async () => {
    const roots = 'version: 1\npaths: { extra_roots: ["../data", "../.haft", "/var"] }\n';
    const outer = 'version: 1\npaths: { rules: [{ path: data/d.txt, write: deny }] }\n';
    const { reason, path } = nested(outer, roots, { '.haft/x': '', 'data/e.txt': 'e\n' });
    assert.equal(await reason('file_read', { path: path('data/d.txt') }), 'ok');
    assert.equal(await reason('file_write', { path: path('data/d.txt'), content: '' }), 'policy.denied');
    assert.equal(await reason('file_read', { path: path('.haft/x') }), 'path.outside_workspace');
    assert.equal(await reason('file_read', { path: '/var/x' }), 'path.outside_workspace');
  });

  it('starts no program and runs nowhere that the outer one does not name', async () => {
    const packs = `version: 1
packs: [{ name: hub, stdio: { command: [sh, -c, "touch pwned"] } }]
runs: { backend: docker, images: [debian] }
`;
    const { sub } = nested('version: 1\n', packs);
    const { document } = await cliJson(sub, 'tools', 'list');
    assert.ok(document.tools.length > 0);
    assert.ok(!document.tools.some(({ id }: { id: string }) => id.startsWith('hub')));
    const added = await runForTests(['tools', 'add', 'more', '--workspace', sub, '--', 'true']);
    assert.match(added.err, /\.\.\/haft\.yaml holds here as well/);
  });

  it('is held by every workspace above, also without a haft.yaml of its own', async () => {
    const workspace = nested('version: 1\ntools: { default: deny }\n');
    mkdirSync(workspace.path('sub/deep/.haft'), { recursive: true });
    const { document } = await cliJson(workspace.path('sub/deep'), 'call', 'fs_list', '{}');
    assert.equal(document.errors[0].reason, 'policy.denied');
  });

  it('is held in a plain folder below, which has no haft.yaml and no state of its own', async () => {
    const rules = '- {path: "**/.env", read: deny}\n    - {path: plain/kept, write: deny}';
    const workspace = makeWorkspace({
      'haft.yaml': `version: 1\nshell_allow: ["^cat "]\npaths:\n  rules:\n    ${rules}\n`,
      'plain/.env': 'secret\n',
      'plain/deep/.env': 'secret\n',
      'plain/a.txt': 'a\n',
    });
    made.push(workspace);
    const reason = async (folder: string, tool: string, args: object) => {
      const at = workspace.path(folder);
      const { document } = await cliJson(at, 'call', tool, JSON.stringify(args));
      assert.ok(!JSON.stringify(document).includes('secret'));
      return document.errors[0]?.reason ?? 'ok';
    };
    assert.equal(await reason('plain', 'file_read', { path: '.env' }), 'policy.denied');
    assert.equal(await reason('plain', 'file_read', { path: 'deep/.env' }), 'policy.denied');
    assert.equal(await reason('plain/deep', 'file_read', { path: '.env' }), 'policy.denied');
    assert.equal(await reason('plain', 'file_write', { path: 'kept', content: 'x' }), 'policy.denied');
    assert.equal(await reason('plain', 'file_read', { path: 'a.txt' }), 'ok');
    // What the outer one grants is not granted by that here: the defaults allow no command.
    assert.equal(await reason('plain', 'shell_exec', { cmd: 'cat .env' }), 'shell.not_allowed');
  });

  it('is held by one that its user owns, and not by that of a stranger', async () => {
    const workspace = nested('version: 1\ntools: { default: deny }\n');
    revokeTrust(workspace.root);
    assert.equal(await workspace.reason('fs_list', {}), 'policy.denied');
    chownSync(workspace.path('haft.yaml'), 65534, 65534);
    assert.equal(await workspace.reason('fs_list', {}), 'ok');
    trustForTests(workspace.root);
    assert.equal(await workspace.reason('fs_list', {}), 'policy.denied');
    // What was trusted holds on where the file grants more by now.
    writeFileSync(workspace.path('haft.yaml'), 'version: 1\n');
    assert.equal(await workspace.reason('fs_list', {}), 'policy.denied');
  });

  it('does not start below one that cannot be read', async () => {
    const workspace = nested('version: 1\n');
    writeFileSync(workspace.path('haft.yaml'), 'version: 1\nnope: 1\n');
    assert.match(
      (await cli(workspace.sub, 'call', 'fs_list', '{}')).stderr,
      /\.\.\/haft\.yaml, whose workspace holds this one/,
    );
    rmSync(workspace.path('haft.yaml'));
    assert.equal(await workspace.reason('fs_list', {}), 'ok');
  });
});
