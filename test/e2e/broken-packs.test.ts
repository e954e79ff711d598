// Owns: the proof that what only looks, or puts right, works while a pack is wrong, and says so.
// Refuses: calls: those wait until the pack is right.
import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { manifest } from '../../src/loader/tool-yaml/pack-for-tests.ts';
import { cli } from './support/cli.ts';
import { haft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const WRONG = {
  'a manifest': { 'packs/p/a.tool.yaml': manifest({ timeoutMs: 'soon' }) },
  'a folder that is not there': { 'haft.yaml': 'version: 1\npacks: [packs/q]\n' },
  'a folder outside of the workspace': { 'haft.yaml': 'version: 1\npacks: [/usr/share]\n' },
  'two packs of one name': { 'haft.yaml': 'version: 1\npacks: [packs/p, other/p]\n' },
  'a key of a server': { 'haft.yaml': 'version: 1\npacks: [{ name: x, mcp: { comand: [x] } }]\n' },
  'the URL of a server': { 'haft.yaml': 'version: 1\npacks: [{ name: x, mcp: { url: example.org } }]\n' },
};

describe('while a pack is wrong', { timeout: 180_000 }, () => {
  for (const [what, files] of Object.entries(WRONG))
    describe(`by ${what}`, () => {
      let workspace: Workspace;
      before(async () => {
        workspace = makeWorkspace({ 'haft.yaml': 'version: 1\n', 'a.txt': 'one' });
        const args = ['call', 'file_write', '{"path":"a.txt","content":"two"}'];
        assert.equal((await haft(args, { cwd: workspace.root })).status, 0);
        workspace.put('packs/p/b.tool.yaml', manifest());
        workspace.put('haft.yaml', 'version: 1\npacks: [packs/p]\n');
        for (const [path, text] of Object.entries(files)) workspace.put(path, text);
      });
      after(() => workspace.remove());
      const run = (...args: string[]) => haft(args, { cwd: workspace.root });

      for (const args of [
        ['audit', 'list'],
        ['audit', 'verify'],
        ['audit', 'head'],
        ['policy', 'explain', 'file_read', '{"path":"a.txt"}'],
        ['policy', 'hash'],
        ['policy', 'suggest'],
        ['policy', 'replay', 'haft.yaml'],
        ['approvals', 'list'],
        ['runs', 'list'],
      ])
        it(`haft ${args.slice(0, 2).join(' ')} works, and says so`, async () => {
          const { status, stderr } = await run(...args);
          assert.equal(status, 0, stderr);
          assert.match(stderr, /haft: a pack is left out here: Cannot /);
        });

      it('haft doctor has a finding for it, and finds the audit and the state whole', async () => {
        const { findings } = JSON.parse((await run('doctor', '--json')).stdout) as {
          findings: { name: string; state: string; evidence: string }[];
        };
        const of = (name: string) => findings.find((one) => one.name === name);
        assert.equal(of('packs')?.state, 'failed');
        assert.match(of('packs')?.evidence ?? '', /Cannot /);
        assert.deepEqual([of('state folder')?.state, of('audit')?.state], ['ok', 'ok']);
      });

      it('a call is refused', async () => {
        const { status, stderr } = await run('call', 'file_read', '{"path":"a.txt"}');
        assert.equal(status, 2, stderr);
        assert.match(stderr, /pack\.invalid/);
      });

      it('haft undo takes back what a call did', async () => {
        const { rows } = JSON.parse((await run('audit', 'list', '--tool', 'file_write', '--json')).stdout);
        const { status, stderr } = await run('undo', rows[0].call_id);
        assert.equal(status, 0, stderr);
      });
    });
});

describe('a pack outside of the workspace', () => {
  it('is refused when it is loaded, with that reason, however it is named', async () => {
    const elsewhere = makeWorkspace({
      'b.tool.yaml': manifest(),
      'tp/package.json': '{"haft":{"toolpack":"t.ts"}}',
    });
    const workspace = makeWorkspace({ 'in/b.tool.yaml': manifest() });
    try {
      symlinkSync(elsewhere.root, workspace.path('link'));
      const beside = `../${basename(elsewhere.root)}`;
      const list = async (yaml: string) => {
        workspace.put('haft.yaml', `version: 1\n${yaml}\n`);
        return cli(workspace.root, 'tools', 'list');
      };
      for (const yaml of [
        `packs: [${elsewhere.root}]`,
        `packs: [${beside}]`,
        `packs: [${beside}/tp]`,
        `packs: [in/../${beside}]`,
        `packs: [${beside}/not-there]`,
        'packs: [link]',
        'packs: [link/tp]',
        `packs: [{ name: x, path: ${beside} }]`,
        `packs: [${beside}]\npaths: { extra_roots: [${beside}] }`,
      ]) {
        const { status, stderr } = await list(yaml);
        assert.match(stderr, /it lies outside of the workspace, and packs lie inside of it/, yaml);
        assert.deepEqual([status, /pack\.invalid/.test(stderr)], [2, true], yaml);
      }
      const whole = await list(`packs: [${workspace.path('in')}]`);
      assert.equal(whole.status, 2);
      assert.match(whole.stderr, /named relative to haft\.yaml; write "in"/);
      for (const yaml of ['packs: [in]', 'packs: [./in/]', 'packs: [in/../in]'])
        assert.equal((await list(yaml)).status, 0, yaml);
    } finally {
      for (const one of [elsewhere, workspace]) one.remove();
    }
  });
});
