// Owns: the proof that a server is shown the files that its command names, and never a variable of Haft itself.
// Refuses: everything else that a server may have; other tests show that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { haft } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

/** Beside being a hub: answers whether it sees these files, and whether it can write to the last. */
const seer = `${hubServer('Says what it sees.').replace(
  'text: args.text',
  `text: JSON.stringify(args.text.split(',').map((name) => {
    try { readFileSync(name); } catch { return [name, 'none']; }
    try { writeFileSync(name, 'changed'); } catch { return [name, 'read']; }
    return [name, 'write'];
  }))`,
)}`.replace('import {', "import { readFileSync, writeFileSync } from 'node:fs';\nimport {");

async function withHub(
  config: object,
  files: Record<string, string>,
  use: (workspace: Workspace) => Promise<void>,
): Promise<void> {
  const policy = { version: 1, packs: [{ name: 'hub', mcp: config }] };
  const workspace = makeWorkspace({ ...files, 'haft.yaml': JSON.stringify(policy) });
  try {
    await use(workspace);
  } finally {
    workspace.remove();
  }
}

describe('the command of a server', () => {
  it('is shown the files that its words name, read-only, and no others', async () => {
    const files = {
      'hub.mjs': seer,
      'words.json': '[]',
      'other.txt': 'x',
      'lib/a.json': '1',
      'lib/b.json': '2',
    };
    await withHub({ command: ['node', 'hub.mjs', 'words.json', 'lib/a.json'] }, files, async ({ root }) => {
      const args = JSON.stringify({ text: 'hub.mjs,words.json,lib/a.json,lib/b.json,other.txt' });
      const { status, stdout, stderr } = await haft(['call', 'hub.echo', args, '--json'], { cwd: root });
      assert.equal(status, 0, stdout + stderr);
      assert.deepEqual(JSON.parse(JSON.parse(stdout).data.text), [
        ['hub.mjs', 'read'],
        ['words.json', 'read'],
        ['lib/a.json', 'read'],
        ['lib/b.json', 'none'],
        ['other.txt', 'none'],
      ]);
    });
  });

  it('is looked for where the server is started', async () => {
    await withHub(
      { command: ['node', 'hub.mjs'], cwd: 'servers' },
      { 'servers/hub.mjs': seer },
      async ({ root }) => {
        const { status, stderr } = await haft(['call', 'hub.echo', '{"text":"hub.mjs"}'], { cwd: root });
        assert.equal(status, 0, stderr);
      },
    );
  });

  it('gets no variable of Haft itself, and the start says so', async () => {
    const config = { command: ['node', 'hub.mjs'], env: { passthrough: ['LANG', 'HAFT_KEY'] } };
    await withHub(config, { 'hub.mjs': seer }, async ({ root }) => {
      const { status, stderr } = await haft(['tools', 'list'], { cwd: root });
      assert.equal(status, 2);
      assert.match(
        stderr,
        /Cannot take the pack "hub": env\.passthrough\[1\] is HAFT_KEY, .*under credentials/,
      );
    });
  });
});
