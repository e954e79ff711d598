// Owns: `haft mcp install` as people use it: for every client, beside odd configurations, taken out to the same bytes.
// Not here: the real clients; `npm run clients` installs and drives them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { tryServer } from '../../src/hosts/cli/mcp-clients/connects.ts';
import { haft, NODE_ARGS, startHaft } from './support/haft.ts';

/** Where each client looks, and a configuration that its user could have, with what must be left alone. */
const CLIENTS: Readonly<Record<string, { project: string; user: string; text: string }>> = {
  claude: {
    project: '.mcp.json',
    user: '.claude.json',
    text: '\ufeff{\r\n\t"projects": {"/x": {"mcpServers": {}}},\r\n\t"mcpServers": {\r\n\t\t"héllo": {"command": "x"}\r\n\t}\r\n}',
  },
  codex: {
    project: '.codex/config.toml',
    user: '.codex/config.toml',
    text: '# mine\r\nmodel = "x" # why\r\nnotes = """\r\n[mcp_servers.haft]\r\n"""\r\n[mcp_servers.other]\r\ncommand = \'y\'',
  },
  gemini: {
    project: '.gemini/settings.json',
    user: '.gemini/settings.json',
    text: '{ // theme\n  "ui": {"theme": "dark"} /* ok */\n}\n',
  },
  opencode: {
    project: 'opencode.jsonc',
    user: '.config/opencode/opencode.jsonc',
    text: '{\n    "$schema": "https://opencode.ai/config.json",\n    "mcp": {\n        "haft2": {"type": "remote"}, // keep\n    },\n}\n',
  },
  cursor: { project: '.cursor/mcp.json', user: '.cursor/mcp.json', text: '{"mcpServers":{}}' },
  vscode: {
    project: '.vscode/mcp.json',
    user: '.config/Code/User/mcp.json',
    text: '// inputs first\n{\n  "inputs": [],\n  "servers": {\n    /* none */\n  }\n}\n',
  },
  zed: {
    project: '.zed/settings.json',
    user: '.config/zed/settings.json',
    text: '// Zed settings\n//\n{\n  "agent": {},\n  // my servers\n  "context_servers": {\n    "x": {"command": "y"},\n  },\n}\n',
  },
};

describe('haft mcp install', () => {
  let base = '';
  let home = '';
  let workspace = '';
  beforeEach(() => {
    base = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-install-')));
    home = join(base, 'home');
    workspace = join(base, 'Wörk "space" ’s');
    for (const folder of [home, workspace]) mkdirSync(folder);
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  const run = (args: readonly string[], path = '/nowhere') => {
    const env = { HOME: home, XDG_CONFIG_HOME: '', CODEX_HOME: '', CLAUDE_CONFIG_DIR: '', PATH: path };
    return haft(['mcp', 'install', '--workspace', workspace, ...args], { cwd: workspace, env });
  };
  const put = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  /** What a call answers with `--json`. */
  const asJson = async (...args: string[]) => JSON.parse((await run([...args, '--json'])).stdout);

  for (const [client, { project, user, text }] of Object.entries(CLIENTS)) {
    for (const [scope, place] of [
      ['project', project],
      ['user', user],
    ] as const) {
      it(`${client}: adds a server to the ${scope}'s configuration, and removes exactly that`, async () => {
        const file = put(join(scope === 'project' ? workspace : home, place), text);
        chmodSync(file, 0o640);
        const added = await asJson(client, '--scope', scope, '--no-check');
        assert.deepEqual([added.action, added.file, added.written], ['added', file, true]);
        const [command, args] = [added.entry.command, added.entry.args ?? []].flat(0);
        const started = [command, args].flat();
        assert.deepEqual(started, [process.execPath, ...NODE_ARGS, 'mcp', '--workspace', workspace]);
        const now = readFileSync(file, 'utf8');
        assert.ok(now.includes(JSON.stringify(workspace)), now);
        assert.equal(statSync(file).mode & 0o777, 0o640);
        if (scope === 'project') assert.equal((await asJson(client, '--no-check')).action, 'unchanged');
        assert.equal((await asJson(client, '--scope', scope, '--uninstall')).action, 'removed');
        assert.equal(readFileSync(file, 'utf8'), text);
      });
    }

    it(`${client}: makes the file where there is none, and takes it away again`, async () => {
      const { status, stdout } = await run([client]);
      assert.equal(status, 0);
      assert.match(stdout, /\n\+.*--workspace/);
      assert.match(stdout, /The server starts and lists \d\d tools\./);
      await run([client, '--uninstall']);
      assert.deepEqual(readdirSync(workspace), ['.haft']);
    });
  }

  describe('leaves everything as it is', () => {
    const REFUSED: readonly (readonly [what: string, client: string, text: string, says: RegExp])[] = [
      [
        'broken JSON',
        'cursor',
        '{\n  "mcpServers": {\n',
        /\.cursor\/mcp\.json:3, which Cursor reads: it is not valid JSON/,
      ],
      ['a comment where none may be', 'claude', '{\n  // x\n}', /\.mcp\.json:2, which Claude Code reads/],
      ['broken TOML', 'codex', 'a = 1\nb = "\n', /config\.toml:2, which Codex reads: it is not valid TOML/],
      ['an inline table', 'codex', 'mcp_servers = {}\n', /config\.toml:1.*edit it by hand/],
      [
        'a server of another',
        'cursor',
        '{"mcpServers":{"haft":{"command":"x"}}}',
        /it is not from haft mcp install.*--force/,
      ],
      [
        'Haft for another folder',
        'codex',
        '[mcp_servers.haft]\ncommand = "haft"\nargs = ["mcp", "--workspace", "/other"]\n',
        /it is Haft for \/other, not for .*--force/,
      ],
    ];
    for (const [what, client, text, says] of REFUSED) {
      it(`where there is ${what}`, async () => {
        const file = put(join(workspace, CLIENTS[client]!.project), text);
        for (const more of [[], ['--uninstall']]) {
          const { status, stdout, stderr } = await run([client, ...more]);
          assert.match(stderr, says);
          assert.equal(stdout, '');
          assert.notEqual(status, 0);
        }
        assert.equal(readFileSync(file, 'utf8'), text);
      });
    }

    it('with --dry-run and --print', async () => {
      const shown = await run(['vscode', '--dry-run']);
      assert.match(shown.stdout, /^diff --git a\/\.vscode\/mcp\.json/);
      assert.match(shown.stdout, /Nothing was written/);
      const printed = await run(['zed', '--print']);
      assert.deepEqual(JSON.parse(printed.stdout).context_servers.haft.args.slice(-2), [
        '--workspace',
        workspace,
      ]);
      assert.ok(!existsSync(join(workspace, '.vscode')) && !existsSync(join(workspace, '.zed')));
    });

    it('where a link leaves the workspace', async () => {
      const outside = put(join(base, 'outside.json'), '{}');
      symlinkSync(outside, join(workspace, '.mcp.json'));
      symlinkSync(base, join(workspace, '.cursor'));
      for (const client of ['claude', 'cursor'])
        assert.match(
          (await run([client])).stderr,
          /a link in it leaves the workspace \[E_POLICY path.outside/,
        );
      assert.equal(readFileSync(outside, 'utf8'), '{}');
    });

    it('where the client would replace a part of the path', async () => {
      const odd = join(base, 'a$HOME');
      mkdirSync(odd);
      workspace = odd;
      const { stderr } = await run(['gemini']);
      assert.match(stderr, /Cannot configure Gemini CLI: it would replace a part of the path/);
    });
  });

  it('keeps the folder that it works in, though it is empty', async () => {
    await run(['claude', '--no-check']);
    await run(['claude', '--uninstall']);
    assert.deepEqual(readdirSync(workspace), []);
  });

  it('replaces the server of another with --force, and keeps its neighbours', async () => {
    const file = put(join(workspace, '.cursor/mcp.json'), '{"mcpServers":{"haft":{"url":"x"},"b":{}}}');
    assert.equal((await asJson('cursor', '--force', '--no-check')).action, 'updated');
    const { mcpServers } = JSON.parse(readFileSync(file, 'utf8'));
    assert.deepEqual(Object.keys(mcpServers.haft), ['command', 'args']);
    assert.deepEqual(mcpServers.b, {});
  });

  it('keeps what somebody added to the entry, says so, and removes it only with --force', async () => {
    await run(['codex', '--no-check']);
    const file = join(workspace, '.codex/config.toml');
    const table = '\n[mcp_servers.haft.env]\nNODE_OPTIONS = "--require ./x.cjs"\n';
    writeFileSync(
      file,
      `a = 1\n\n${readFileSync(file, 'utf8').replace(process.execPath, '/old/node')}${table}`,
    );
    const { stdout } = await run(['codex', '--no-check']);
    assert.match(stdout, /^-command = "\/old\/node"\n\+command = /m);
    assert.match(stdout, /Note: the entry also has env/);
    assert.match((await run(['codex', '--uninstall'])).stderr, /somebody added "env/);
    assert.ok(readFileSync(file, 'utf8').endsWith(table));
    await run(['codex', '--uninstall', '--force']);
    assert.equal(readFileSync(file, 'utf8'), 'a = 1\n');
  });

  it('follows a link of the user, and writes where it leads', async () => {
    const kept = put(join(base, 'dotfiles/claude.json'), '{\n  "a": 1\n}\n');
    symlinkSync(kept, join(home, '.claude.json'));
    await run(['claude', '--scope', 'user', '--no-check']);
    assert.ok(lstatSync(join(home, '.claude.json')).isSymbolicLink());
    assert.equal(JSON.parse(readFileSync(kept, 'utf8')).mcpServers.haft.type, 'stdio');
  });

  it('hides secrets of neighbours in what it shows, and nowhere else', async () => {
    const text = '{\n  "mcpServers": {\n    "x": { "env": { "API_KEY": "hunter2hunter2" } }\n  }\n}\n';
    const file = put(join(workspace, '.cursor/mcp.json'), text);
    const { stdout } = await run(['cursor', '--no-check']);
    assert.match(stdout, /API_KEY/);
    assert.doesNotMatch(stdout, /hunter2/);
    assert.match(readFileSync(file, 'utf8'), /hunter2hunter2/);
  });

  const SAYS: readonly (readonly [line: string, says: RegExp, exit: number])[] = [
    [
      'haft: node mcp --workspace WORKSPACE - ✔ Connected',
      /Claude Code connects to it \(claude mcp list\)/,
      0,
    ],
    ['haft: node - ⏸ Pending approval', /does not use it yet: start claude in this folder/, 0],
    [
      'haft: node WORKSPACE/connected - ✘ Failed to connect',
      /could not connect \(claude mcp list\): haft:/,
      1,
    ],
    ['hafts: connected', /does not list it yet/, 0],
  ];
  for (const [line, says, exit] of SAYS) {
    it(`tells in plain words that the client says "${line}"`, async () => {
      workspace = join(base, 'failed to be disabled');
      mkdirSync(workspace);
      const bin = join(base, 'bin');
      chmodSync(
        put(
          join(bin, 'claude'),
          `#!/bin/sh\necho 'haft-x: failed\n${line.replace('WORKSPACE', workspace)}'\n`,
        ),
        0o755,
      );
      const { status, stdout } = await run(['claude'], `.:${bin}:/bin:/usr/bin`);
      assert.match(stdout, says);
      assert.equal(status, exit);
    });
  }

  it('is what haft serve prints for pasting, and that starts', async () => {
    const child = startHaft(['serve', '--port', '0', '--json', '--workspace', workspace], { cwd: base });
    const closed = once(child, 'close');
    try {
      let text = '';
      for await (const chunk of child.stdout) {
        text += chunk;
        if (text.includes('\n')) break;
      }
      const { command, args } = JSON.parse(text).mcp.mcpServers.haft;
      assert.ok((await tryServer([command, ...args], '/')).tools > 10);
    } finally {
      child.kill();
      await closed;
    }
  });
});
