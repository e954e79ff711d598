// Owns: `haft credentials` as a person types it: prompts, pipes, exit codes, and that no value is ever shown.
// Refuses: what a credential is kept as; the tests beside the code show that.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { hashForTests } from '../../src/preset/trust/trust-for-tests.ts';
import { NODE_ARGS } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';

const TOKEN = 'correct horse battery staple';

describe('haft credentials', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'haft-credentials-'));
    mkdirSync(join(folder, 'workspace'));
  });
  after(() => rmSync(folder, { recursive: true }));

  const environment = () => ({
    PATH: process.env.PATH,
    HOME: folder,
    ...hashForTests(join(folder, 'workspace')),
  });
  const argv = (args: readonly string[]) => [
    ...NODE_ARGS,
    'credentials',
    ...args,
    '--workspace',
    join(folder, 'workspace'),
  ];
  const haft = (args: readonly string[], input = '', env: Record<string, string> = {}) => {
    const options = { encoding: 'utf8', input, env: { ...environment(), ...env } } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, argv(args), options);
    assert.ok(!(stdout + stderr).includes(TOKEN), 'a value was shown');
    return { status, stdout, stderr };
  };

  it('keeps what comes through a pipe, lists it without its value, checks and removes it', () => {
    assert.deepEqual(haft(['list']), { status: 0, stdout: 'No credentials are set.\n', stderr: '' });
    assert.deepEqual(haft(['set', 'github'], `${TOKEN}\n`), {
      status: 0,
      stdout: 'set github (token) for system\n',
      stderr: '',
    });
    const fields = ['--field', 'user', '--field', 'password'];
    assert.equal(
      haft(['set', 'smtp', ...fields, '--user', 'ada'], `{"user":"ada","password":"${TOKEN}"}`).status,
      0,
    );
    const { credentials } = JSON.parse(haft(['list', '--json']).stdout);
    assert.deepEqual(
      credentials.map((one: Record<string, unknown>) => [one.provider, one.owner, one.fields]),
      [
        ['github', '', ['token']],
        ['smtp', 'ada', ['password', 'user']],
      ],
    );
    assert.match(
      haft(['list']).stdout,
      /^PROVIDER .*\ngithub .*system .*token .*\nsmtp .*user ada .*password, user/,
    );
    assert.equal(haft(['check']).stdout, 'ok       github of system\nok       smtp of user ada\n');
    assert.equal(haft(['remove', 'smtp', '--user', 'ada']).stdout, 'removed smtp of user ada\n');
    const again = haft(['remove', 'smtp', '--user', 'ada']);
    assert.equal(again.status, 3);
    assert.match(again.stderr, /credentials\.missing/);
  });

  it('says which credential another key cannot open, and exits with the code of the table', () => {
    const other = haft(['check', '--json'], '', { HAFT_KEY: Buffer.alloc(32, 9).toString('base64') });
    assert.equal(other.status, 70);
    const { ok, credentials } = JSON.parse(other.stdout);
    assert.deepEqual([ok, credentials[0].reason], [false, 'credentials.key']);
    assert.match(haft(['set', 'github'], TOKEN, { HAFT_KEY: 'short' }).stderr, /openssl rand -base64 32/);
  });

  it('refuses a value on the command line, a bad provider and text that is no secret', () => {
    assert.match(haft(['set', 'github', 'value'], '').stderr, /"value" is one argument too many/);
    assert.match(haft(['set', 'GitHub'], TOKEN).stderr, /lower-case letters/);
    assert.match(haft(['set', '../key'], TOKEN).stderr, /lower-case letters/);
    assert.match(haft(['set', 'github'], '').stderr, /credentials\.schema/);
    const two = ['--field', 'a', '--field', 'b'];
    for (const text of [TOKEN, `{"a":"${TOKEN}"}`, `{"a":"${TOKEN}","b":1}`, `["${TOKEN}"]`, 'null'])
      assert.match(haft(['set', 'github', ...two], text).stderr, /a JSON object with a, b/);
  });

  it('asks for the fields that tools want, holds them to their schema, and names what is not set', () => {
    const workspace = join(folder, 'workspace');
    mkdirSync(join(workspace, 'packs'));
    writeFileSync(join(workspace, 'packs/mail.tool.yaml'), MANIFEST);
    writeFileSync(join(workspace, 'haft.yaml'), 'version: 1\npacks: [packs]\n');
    assert.match(haft(['check']).stdout, /^not set {2}mail, which demo\.mail needs$/m);
    assert.equal(haft(['check']).status, 3, 'one that is not set is a failure');
    assert.equal(JSON.parse(haft(['check', '--json']).stdout).ok, false);
    const short = haft(['set', 'mail'], `{"user":"ada","password":"x"}`);
    assert.match(short.stderr, /\/password must have at least 8 characters/);
    assert.equal(haft(['set', 'mail'], `{"user":"ada","password":"${TOKEN}"}`).status, 0);
    assert.match(haft(['check']).stdout, /^ok {7}mail of system$/m);
    assert.equal(haft(['check']).status, 0);
    rmSync(join(workspace, 'packs'), { recursive: true });
    rmSync(join(workspace, 'haft.yaml'));
  });

  it('gives a server what its config names, and takes it out of its answers', () => {
    const workspace = join(folder, 'workspace');
    mkdirSync(join(workspace, 'server'));
    writeFileSync(
      join(workspace, 'server/hub.mjs'),
      hubServer('Says what it was given.').replace('args.text', 'process.env.HUB_TOKEN'),
    );
    const config = 'credentials: [hub], env: { set: { HUB_TOKEN: "{{ credentials.hub.token }}" } }';
    writeFileSync(
      join(workspace, 'haft.yaml'),
      `version: 1\npacks: [{ name: hub, mcp: { command: [node, server/hub.mjs], ${config} } }]\n`,
    );
    const call = () => {
      const args = [...NODE_ARGS, 'call', 'hub.echo', '{"text":"x"}', '--workspace', workspace];
      const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env: environment() });
      return JSON.parse(stdout);
    };
    assert.match(haft(['check']).stdout, /^not set {2}hub, which hub needs$/m);
    assert.equal(haft(['set', 'hub'], TOKEN).status, 0);
    const { ok, data, errors } = call();
    assert.deepEqual(errors, []);
    assert.deepEqual([ok, data], [true, { text: '[redacted]' }]);
    assert.equal(haft(['remove', 'hub']).status, 0);
    assert.equal(call().errors[0].reason, 'credentials.missing');
    for (const name of ['server', 'haft.yaml']) rmSync(join(workspace, name), { recursive: true });
  });

  it('never puts the key or a value into the workspace', () => {
    const workspace = join(folder, 'workspace');
    assert.deepEqual(readdirSync(workspace), ['.haft']);
    assert.deepEqual(readdirSync(join(folder, '.config/haft')).sort(), ['credentials', 'heads', 'key']);
    const inside = haft(['set', 'github'], TOKEN, { XDG_CONFIG_HOME: workspace });
    assert.equal(inside.status, 70);
    assert.match(inside.stderr, /lies in the workspace/);
    assert.deepEqual(readdirSync(workspace), ['.haft']);
  });

  it('asks at a terminal without showing what is typed', () => {
    const typed = atTerminal(argv(['set', 'gitlab']), environment(), `wrong\u0015${TOKEN}x\u007f\r`);
    assert.match(typed.shown, /gitlab token: /);
    assert.ok(!typed.shown.includes(TOKEN) && !typed.shown.includes('wrong'), typed.shown);
    assert.match(typed.shown, /set gitlab \(token\) for system/);
    assert.equal(typed.status, 0);
    assert.match(haft(['check']).stdout, /ok {7}gitlab of system/);
  });

  it('keeps nothing when the person leaves', () => {
    const left = atTerminal(argv(['set', 'left']), environment(), 'half\u0003');
    assert.equal(left.status, 130);
    assert.ok(!left.shown.includes('half'));
    assert.doesNotMatch(haft(['list']).stdout, /left/);
  });
});

const MANIFEST = `
id: demo.mail
version: 1.0.0
deterministic: false
timeoutMs: 1000
limits: { maxInputBytes: 1000, maxOutputBytes: 1000 }
inputSchema: { type: object }
outputSchema: { type: object }
execution: { kind: cli, cmd: ["true"] }
credentials:
  mail:
    schema:
      type: object
      properties: { user: { type: string, writeOnly: false }, password: { type: string, minLength: 8 } }
      required: [user, password]
    env: { MAIL_USER: user, MAIL_PASSWORD: password }
`;

/** Runs it on a terminal of its own, types once it has asked, and answers all that the terminal showed. */
function atTerminal(args: readonly string[], env: Record<string, string | undefined>, keys: string) {
  const code = `
import json, os, pty, sys
given = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    os.execve(given["argv"][0], given["argv"], given["env"])
shown = b""
typed = False
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if not typed and b": " in shown:
        typed = True
        os.write(terminal, given["keys"].encode())
_, status = os.waitpid(pid, 0)
json.dump({"shown": shown.decode(), "status": os.waitstatus_to_exitcode(status)}, sys.stdout)
`;
  const input = JSON.stringify({ argv: [process.execPath, ...args], env, keys });
  const { stdout, stderr } = spawnSync('python3', ['-c', code], { input, encoding: 'utf8' });
  assert.equal(stderr, '');
  return JSON.parse(stdout) as { readonly shown: string; readonly status: number };
}
