// Owns: the proof that a deterministic tool is answered from an earlier result only while all that it could read is the same.
// Refuses: to trust what a manifest says of itself: the files are changed, and the answers compared.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { haft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const manifest = (id: string, more: string) => `id: ${id}
version: 1.0.0
deterministic: true
timeoutMs: 60000
limits: { maxInputBytes: 100000, maxOutputBytes: 100000 }
inputSchema: { type: object }
outputSchema: {}
${more}
`;

const FILES = {
  'haft.yaml': 'version: 1\npacks: [packs/p]\n',
  'packs/p/read.tool.yaml': manifest(
    'p.read',
    'execution: { kind: python, script: read.py }\ncaps: { filesystem: { read: [data, later] } }\nenv: { passthrough: [COLOUR] }',
  ),
  'packs/p/read.py': `import json, os, helper
found = [helper.WORD, os.environ.get("COLOUR"), os.path.exists("later")]
for folder, folders, files in sorted(os.walk("data")):
  found += [folder] + [open(os.path.join(folder, f)).read() for f in sorted(files)]
print(json.dumps(found))
`,
  'packs/p/helper.py': 'WORD = "one"\n',
  'packs/p/pure.tool.yaml': manifest('p.pure', 'execution: { kind: python, script: pure.py }'),
  'packs/p/pure.py': 'print("1")\n',
  'data/a.txt': 'alpha',
};

async function withTools(use: (workspace: Workspace) => Promise<void>, files = {}): Promise<void> {
  const workspace = makeWorkspace({ ...FILES, ...files });
  try {
    await use(workspace);
  } finally {
    workspace.remove();
  }
}

const call = async ({ root }: Workspace, tool: string, env: Record<string, string> = {}) => {
  const { stdout, stderr } = await haft(['call', tool], { cwd: root, env });
  assert.notEqual(stdout, '', stderr);
  const { ok, data, replayed, errors } = JSON.parse(stdout);
  assert.ok(ok, JSON.stringify(errors));
  return { data, replayed };
};

describe('replay of deterministic tools', { timeout: 180_000 }, () => {
  it('is another run once a file that it may read, a module beside it or a variable changed', () =>
    withTools(async (workspace) => {
      const fresh = async (why: string, env = {}) => {
        const { replayed, data } = await call(workspace, 'p.read', env);
        assert.equal(replayed, false, why);
        assert.deepEqual(await call(workspace, 'p.read', env), { data, replayed: true }, why);
        return data;
      };
      const first = await fresh('the first call');
      // As long as before, and with the old time.
      writeFileSync(workspace.path('data/a.txt'), 'ALPHA');
      utimesSync(workspace.path('data/a.txt'), 1_000_000_000, 1_000_000_000);
      assert.ok((await fresh('a content')).includes('ALPHA'));
      mkdirSync(workspace.path('data/sub'));
      await fresh('a folder without anything in it');
      workspace.put('data/sub/b.txt', 'beta');
      assert.ok((await fresh('a file in a folder')).includes('beta'));
      workspace.put('later', 'there');
      await fresh('what was not there');
      workspace.put('packs/p/helper.py', 'WORD = "two"\n');
      assert.ok((await fresh('a module beside the script')).includes('two'));
      assert.ok((await fresh('a variable', { COLOUR: 'red' })).includes('red'));
      for (const path of ['later', 'data/sub']) rmSync(workspace.path(path), { recursive: true });
      workspace.put('data/a.txt', 'alpha');
      workspace.put('packs/p/helper.py', 'WORD = "one"\n');
      assert.deepEqual(
        await call(workspace, 'p.read'),
        { data: first, replayed: true },
        'all as it was first',
      );
      assert.equal((await call(workspace, 'p.pure')).replayed, false);
      workspace.put('data/a.txt', 'gamma');
      assert.equal((await call(workspace, 'p.pure')).replayed, true, 'it may not read that');
    }));

  it('is another run once policy asks about a file, to which programs are closed then', () =>
    withTools(async (workspace) => {
      const policy = (more: string) => workspace.put('haft.yaml', `${FILES['haft.yaml']}${more}`);
      const open = await call(workspace, 'p.read');
      assert.ok(open.data.includes('alpha'));
      policy('shell_allow: []\nbudgets: {calls: 1000}\ntools: {rules: [{tool: curl, decision: ask}]}\n');
      assert.deepEqual(await call(workspace, 'p.read'), { ...open, replayed: true }, 'an unrelated edit');
      for (const rule of [
        'paths: {rules: [{path: data/a.txt, read: ask}]}',
        'paths: {rules: [{path: data/a.txt, read: deny}]}',
        'tools: {rules: [{tool: p.read, decision: ask, paths: [data/a.txt]}]}',
      ]) {
        policy(`${rule}\n`);
        const { stdout } = await haft(['call', 'p.read'], { cwd: workspace.root });
        assert.doesNotMatch(stdout, /alpha|"replayed":true/, rule);
      }
      policy('paths: {rules: [{path: data/a.txt, read: ask, programs: allow}]}\n');
      assert.equal((await call(workspace, 'p.read')).replayed, false, 'programs are let in again');
      policy('');
      assert.deepEqual(await call(workspace, 'p.read'), { ...open, replayed: true }, 'as it was first');
    }));

  it('is not there for a tool that may read more than can be looked at, and tools check says so', () =>
    withTools(
      async (workspace) => {
        for (const tool of ['p.many', 'p.many'])
          assert.equal((await call(workspace, tool)).replayed, undefined, 'no run');
        const checked = await haft(['tools', 'check', 'packs/p'], { cwd: workspace.root });
        assert.equal(checked.status, 0, checked.stderr);
        assert.match(
          checked.stderr,
          /many\.tool\.yaml:9:\d+: .*"p\.many" is not replayed: what caps\.filesystem\.read names is more than 5000 files/,
        );
      },
      {
        'packs/p/many.tool.yaml': manifest(
          'p.many',
          'execution: { kind: python, script: pure.py }\ncaps: { filesystem: { read: [many] } }',
        ),
        ...Object.fromEntries(Array.from({ length: 5_001 }, (_, at) => [`many/${at}`, ''])),
      },
    ));

  it('is refused of a tool that asks the network or writes files, with the reason', async () => {
    for (const [caps, reason] of [
      ['{ network: [https] }', /deterministic: it is true, and caps\.network lets it ask others/],
      [
        '{ filesystem: { write: [out] } }',
        /caps\.filesystem\.write lets it write files, and a replay writes none/,
      ],
    ] as const)
      await withTools(
        async ({ root }) => {
          const { status, stderr } = await haft(['call', 'p.pure'], { cwd: root });
          assert.notEqual(status, 0);
          assert.match(stderr, /bad\.tool\.yaml:3:16/);
          assert.match(stderr, reason);
        },
        {
          'packs/p/bad.tool.yaml': manifest(
            'p.bad',
            `execution: { kind: python, script: pure.py }\ncaps: ${caps}`,
          ),
        },
      );
  });
});
