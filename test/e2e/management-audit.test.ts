// Owns: the proof that what people change outside of calls is in the one audit, with who and what, and never a secret.
// Refuses: to read the database for it: `haft audit` shows it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { haft } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';
import { startLivingHost } from './support/living-host.ts';
import { makeWorkspace } from './support/workspace.ts';

const SECRET = 'correct horse battery staple';
const ASKING = 'version: 1\npaths:\n  rules:\n    - { path: "locked/**", write: ask }\n';
const ME = `cli:${userInfo().username}`;

interface Row {
  readonly tool: string;
  readonly attribution: { readonly by?: string } | null;
  readonly facts: Record<string, unknown> | null;
  readonly decision: { readonly rule: string };
}

async function withWorkspace(use: (site: Site) => Promise<void>): Promise<void> {
  const workspace = makeWorkspace({ 'haft.yaml': ASKING, 'server/hub.mjs': hubServer('Says it.') });
  // Credentials and trust of this test are its own.
  const config = mkdtempSync(join(tmpdir(), 'haft-config-'));
  const env = { HOME: config, XDG_CONFIG_HOME: config };
  const run = async (args: readonly string[], stdin = '') => {
    const ran = await haft(args, { cwd: workspace.root, stdin, env });
    assert.ok(!(ran.stdout + ran.stderr).includes(SECRET));
    return ran;
  };
  const acts = async () => {
    const { rows } = JSON.parse((await run(['audit', 'list', '--last', '200', '--json'])).stdout) as {
      rows: Row[];
    };
    return rows.filter(({ decision }) => decision.rule === 'management');
  };
  try {
    await use({ root: workspace.root, run, acts });
  } finally {
    workspace.remove();
    rmSync(config, { recursive: true, force: true });
  }
}

interface Site {
  readonly root: string;
  run(args: readonly string[], stdin?: string): ReturnType<typeof haft>;
  acts(): Promise<readonly Row[]>;
}

describe('the audit of management', { timeout: 180_000 }, () => {
  it('has every change at the command line, with who made it, in one chain', () =>
    withWorkspace(async ({ run, acts }) => {
      const good = async (args: readonly string[], stdin?: string) => {
        const ran = await run(args, stdin);
        assert.equal(ran.status, 0, `${args.join(' ')}: ${ran.stderr}`);
        return ran;
      };
      const { stdout } = await run(['policy', 'diff', '--json']);
      await good(['trust', '--sha256', JSON.parse(stdout).sha256]);
      const env = `{"env":{"set":{"HUB":"${SECRET}"}}}`;
      await good(['tools', 'add', 'hub', '--config', env, '--', 'node', 'server/hub.mjs']);
      await good([
        'tools',
        'config',
        'hub',
        `{"command":["node","server/hub.mjs"],"env":{"set":{"HUB":"${SECRET}"}}}`,
      ]);
      await good(['tools', 'disable', 'hub']);
      await good(['tools', 'disable', 'hub']);
      await good(['tools', 'enable', 'hub']);
      await good(['tools', 'lock']);
      await good(['credentials', 'set', 'github'], `${SECRET}\n`);
      await good(['credentials', 'remove', 'github']);
      const asked = await run(['call', 'file_write', '{"path":"locked/a","content":"x"}', '--json']);
      const { approval_id } = JSON.parse(asked.stdout).errors[0].details;
      await good(['approvals', 'grant', approval_id]);
      await good(['tools', 'remove', 'hub']);
      const rows = await acts();
      assert.deepEqual(
        rows.map(({ tool }) => tool),
        [
          'haft trust',
          'haft tools add',
          'haft tools config',
          'haft tools disable',
          'haft tools enable',
          'haft tools lock',
          'haft credentials set',
          'haft credentials remove',
          'haft approvals grant',
          'haft tools remove',
        ],
      );
      assert.ok(rows.every(({ attribution }) => attribution?.by === ME));
      const of = (tool: string) => rows.find((row) => row.tool === tool)?.facts;
      assert.deepEqual(of('haft credentials set'), {
        provider: 'github',
        owner: 'system',
        fields: ['token'],
      });
      assert.deepEqual([of('haft tools add')?.pack, of('haft tools add')?.tools], ['hub', 1]);
      assert.deepEqual(
        [of('haft approvals grant')?.approval, of('haft approvals grant')?.tool],
        [approval_id, 'file_write'],
      );
      await good(['audit', 'verify']);
      const list = (await good(['audit', 'list'])).stdout;
      assert.match(
        list,
        new RegExp(`haft tools add +.*pack=hub .* ok +act_\\w+ +outcome +management +${ME}`),
      );
      assert.match((await good(['policy', 'replay', 'haft.yaml'])).stdout, /Nothing would change/);
      assert.ok(!JSON.stringify(rows).includes(SECRET));
    }));

  it('has a new toolpack, with the policy that names it', () =>
    withWorkspace(async ({ run, acts }) => {
      const { stdout } = await run(['policy', 'diff', '--json']);
      await run(['trust', '--sha256', JSON.parse(stdout).sha256]);
      for (const [name, locked] of [
        ['one', false],
        ['two', true],
      ] as const) {
        if (locked) assert.equal((await run(['tools', 'lock'])).status, 0);
        const made = await run(['toolpack', 'new', name]);
        assert.equal(made.status, 0, made.stderr);
        assert.notEqual((await run(['toolpack', 'new', name])).status, 0);
        const rows = await acts();
        const { tool, attribution, facts } = rows.at(-1)!;
        assert.deepEqual([tool, attribution?.by], ['haft toolpack new', ME]);
        const policy = JSON.parse((await run(['policy', 'diff', '--json'])).stdout);
        assert.deepEqual(facts, { pack: name, path: name, sha256: policy.sha256, trusted: true, locked });
      }
      assert.equal((await acts()).filter(({ tool }) => tool === 'haft toolpack new').length, 2);
    }));

  it('has what haft gc gave up, and nothing for a look or where nothing went', () =>
    withWorkspace(async ({ root, run, acts }) => {
      writeFileSync(join(root, 'haft.yaml'), 'version: 1\nundo: { keep: { bytes: 0 } }\n');
      const { stdout } = await run(['policy', 'diff', '--json']);
      await run(['trust', '--sha256', JSON.parse(stdout).sha256]);
      await run(['call', 'file_write', '{"path":"a.txt","content":"old"}']);
      await run(['call', 'file_write', '{"path":"a.txt","content":"new"}']);
      await run(['gc', '--dry-run']);
      assert.deepEqual(await acts().then((rows) => rows.filter(({ tool }) => tool === 'haft gc')), []);
      const ran = await run(['gc', '--json']);
      assert.equal(ran.status, 0, ran.stderr);
      assert.equal((await run(['gc'])).status, 0);
      const rows = (await acts()).filter(({ tool }) => tool === 'haft gc');
      const { undo, objects, archived } = JSON.parse(ran.stdout);
      assert.equal(undo.calls, 1);
      assert.deepEqual(
        rows.map(({ attribution, facts }) => [attribution?.by, facts]),
        [
          [
            ME,
            {
              archived_rows: archived.rows,
              undo_calls: undo.calls,
              undo_bytes: undo.bytes,
              objects: objects.objects,
              bytes: objects.bytes,
            },
          ],
        ],
      );
    }));

  it('has what came over HTTP, and nothing for what changed nothing', () =>
    withWorkspace(async ({ root }) => {
      const host = await startLivingHost(root);
      try {
        const body = { name: 'hub', mcp: { command: ['node', 'server/hub.mjs'] } };
        assert.equal((await host.manage('POST', '/v1/installations', body)).status, 200);
        assert.equal((await host.manage('POST', '/v1/installations', body)).status >= 400, true);
        await host.manage('POST', '/v1/installations/hub', { enabled: true });
        await host.manage('DELETE', '/v1/installations/hub');
      } finally {
        await host.close();
      }
      const { stdout } = await haft(['audit', 'list', '--json'], { cwd: root });
      const rows = (JSON.parse(stdout).rows as Row[]).filter(
        ({ decision }) => decision.rule === 'management',
      );
      assert.deepEqual(
        rows.map(({ tool, attribution }) => [tool, attribution?.by]),
        [
          ['haft tools add', 'http'],
          ['haft tools remove', 'http'],
        ],
      );
    }));
});
