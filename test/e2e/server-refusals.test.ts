// Owns: the proof that what a server is refused is told by its path and the line that grants it, and that the line does.
// Refuses: fakes: real servers in the sandbox, one of them a published one.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { BAD_SERVERS } from './support/bad-servers.ts';
import { haft } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const PACKAGES = join(import.meta.dirname, '../../node_modules');
/** The server, and all that it imports. */
const MEMORY =
  `@modelcontextprotocol/server-memory @modelcontextprotocol/sdk zod zod-to-json-schema ajv ajv-formats fast-uri
  fast-deep-equal json-schema-traverse require-from-string`.split(/\s+/);

async function within(
  files: Readonly<Record<string, string>>,
  use: (workspace: Workspace, run: (...args: readonly string[]) => ReturnType<typeof haft>) => Promise<void>,
): Promise<void> {
  const workspace = makeWorkspace({ 'haft.yaml': 'version: 1\n', ...files });
  try {
    await use(workspace, (...args) => haft(args, { cwd: workspace.root }));
  } finally {
    workspace.remove();
  }
}

/** The line, as a person would copy it. */
const lineIn = (text: string) => JSON.parse(/the pack needs under mcp: (\{.*\})\)/.exec(text)?.[1] ?? 'null');

describe('a sandboxed server', { timeout: 120_000 }, () => {
  it('that writes beside its code is told where else, and the line lets it', async () => {
    await within({}, async (workspace, run) => {
      for (const name of MEMORY) {
        mkdirSync(dirname(workspace.path(`node_modules/${name}`)), { recursive: true });
        cpSync(join(PACKAGES, name), workspace.path(`node_modules/${name}`), {
          recursive: true,
          dereference: true,
        });
      }
      const command = ['node', 'node_modules/@modelcontextprotocol/server-memory/dist/index.js'];
      const added = await run('tools', 'add', 'memory', '--', ...command);
      assert.equal(added.status, 0, added.stderr);
      const args = '{"entities":[{"name":"a","entityType":"t","observations":["x"]}]}';
      const create = async () => JSON.parse((await run('call', 'memory.create_entities', args)).stdout);
      const refused = await create();
      assert.match(
        refused.errors[0].message,
        /EROFS.*refused to write node_modules\/.*it reads MEMORY_FILE_PATH/,
      );
      const config = JSON.stringify({ command, ...lineIn(refused.errors[0].message) });
      const configured = await run('tools', 'config', 'memory', config);
      assert.equal(configured.status, 0, configured.stderr);
      assert.equal((await create()).ok, true);
      assert.match(readFileSync(workspace.path('data/memory.jsonl'), 'utf8'), /"name":"a"/);
    });
  });

  it('that may not write a folder of the workspace, or does not see a module, names it when it is added', async () => {
    const writes = `import { writeFileSync } from 'node:fs';\nwriteFileSync(process.env.PWD + '/out/state.json', '{}');\n`;
    const files = {
      'out/keep': '',
      'lib/words.mjs': 'export const word = 1;\n',
      'server/writes.mjs': writes + hubServer('Says it back.'),
      'server/imports.mjs': `import '../lib/words.mjs';\n${hubServer('Says it back.')}`,
    };
    await within(files, async (_, run) => {
      for (const name of ['writes', 'imports']) {
        const command = ['--', 'node', `server/${name}.mjs`];
        const refused = await run('tools', 'add', name, ...command);
        assert.equal(refused.status, 2, refused.stdout);
        const line = lineIn(refused.stderr);
        assert.ok(line, refused.stderr);
        const added = await run('tools', 'add', name, '--config', JSON.stringify(line), ...command);
        assert.equal(added.status, 0, added.stderr);
      }
    });
  });

  it('may start other programs once the line that is proposed for it is in haft.yaml', async () => {
    const pack = '  - { name: hub, mcp: { command: [node, server/hub.mjs], caps: { subprocess: true } } }\n';
    const policy = (entries: string) => `version: 1\nshell_allow: [${entries}]\npacks:\n${pack}`;
    await within({ 'server/hub.mjs': hubServer('Says it back.') }, async (workspace, run) => {
      workspace.put('haft.yaml', policy("'^ls'"));
      const call = async () => JSON.parse((await run('call', 'hub.echo', '{"text":"hi"}')).stdout);
      const { errors } = await call();
      assert.equal(errors[0].reason, 'shell.not_allowed', JSON.stringify(errors));
      assert.match(
        errors[0].message,
        /the pack "hub" is not there: Cannot start other programs: caps\.subprocess/,
      );
      const line = /- '?(\^<any program>\$)'?/.exec(errors[0].details.admit)?.[1];
      workspace.put('haft.yaml', policy(`'^ls', '${line}'`));
      assert.equal((await call()).ok, true);
    });
  });

  it('whose tools cannot all be used says so when it is added', async () => {
    await within({ 'server/lies.mjs': BAD_SERVERS.lies }, async (_, run) => {
      const added = await run('tools', 'add', 'lies', '--json', '--', 'node', 'server/lies.mjs');
      assert.equal(added.status, 0, added.stderr);
      const { tools, problems } = JSON.parse(added.stdout);
      assert.deepEqual(tools, ['lies.fine']);
      assert.match(problems.join('\n'), /lies\.do_it \(do-it, do_it\)[\s\S]*"lies\.odd" cannot be used/);
    });
  });

  it('that never answers is refused with its last words when it is added', async () => {
    await within({ 'server/hangs.mjs': BAD_SERVERS.hangs }, async (_, run) => {
      const config = '{"start_timeout_ms":500,"probe_timeout_ms":100}';
      const refused = await run(
        'tools',
        'add',
        'hangs',
        '--config',
        config,
        '--',
        'node',
        'server/hangs.mjs',
      );
      assert.equal(refused.status, 2, refused.stdout);
      assert.match(
        refused.stderr,
        /Cannot reach "hangs": it did not answer within 500 ms: waiting for a key/,
      );
      assert.doesNotMatch(refused.stderr, /internal\.unexpected/);
    });
  });
});
