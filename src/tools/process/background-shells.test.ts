import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { makeWorkspace, type Workspace } from '../../../test/e2e/support/workspace.ts';
import { eventually } from '../../../test/support/eventually.ts';
import type { EventMessage } from '../../contract/envelope.ts';
import type { JsonObject } from '../../contract/json.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../preset/default.ts';

const policy = (more = '') => `version: 1
shell_allow:
  - '^(echo|printf|cat|cd|pwd|ls|sleep|head|read|yes|setsid|test|touch|git|exit|continue)(\\s|$)'
  - '^python3( -c .*)?$'
  - '^node( |$)'
  - { pattern: 'os\\.system', decision: deny }
paths:
  rules:
    - { path: 'secret.txt', read: deny, write: deny }
    - { path: 'sub/kept.txt', write: deny }
    - { path: '**/*.pem', write: deny }
${more}`;

interface Read {
  readonly output: readonly { readonly stream: string; readonly text: string }[];
  readonly next: number;
  readonly lost: number;
  readonly more: boolean;
  readonly running: boolean;
  readonly code?: number;
  readonly signal?: string;
  readonly ended?: { readonly reason: string; readonly message: string };
}

describe('background shells', () => {
  let workspace: Workspace;
  let runtime: DefaultRuntime;
  before(async () => {
    workspace = makeWorkspace({ 'haft.yaml': policy(), 'sub/a.txt': 'hello\n', 'secret.txt': 'hidden' });
    runtime = await createDefaultRuntime({ workspace: workspace.root });
  });
  after(async () => {
    await runtime.close();
    workspace.remove();
  });

  const tell = (tool: string, args: JsonObject, sessionId?: string) =>
    runtime.call({ tool, args, ...(sessionId ? { sessionId } : {}) });
  const call = async <T = JsonObject>(tool: string, args: JsonObject, sessionId?: string): Promise<T> => {
    const { ok, data, errors } = await tell(tool, args, sessionId);
    assert.ok(ok, JSON.stringify(errors));
    return data as T;
  };
  const refused = async (tool: string, args: JsonObject, sessionId?: string): Promise<string> =>
    (await tell(tool, args, sessionId)).errors[0]?.reason ?? 'ok';
  const start = async (cmd: string, more: JsonObject = {}, sessionId?: string): Promise<string> =>
    (await call<{ shell_id: string }>('shell_start', { cmd, ...more }, sessionId)).shell_id;
  const toEnd = (shell_id: string, since = 0) =>
    call<Read>('shell_read', { shell_id, since, wait_ms: 60_000, until: 'exit', max_bytes: 1024 * 1024 });
  const write = (shell_id: string, input: string, end = false) =>
    refused('shell_write', { shell_id, input, end });
  const text = ({ output }: Read) => output.map((piece) => piece.text).join('');
  /** All of what a plain shell says, given these commands and `exit`. */
  const said = async (...commands: string[]): Promise<string> => {
    const id = await start('bash');
    for (const command of [...commands, 'exit 0']) assert.equal(await write(id, command), 'ok', command);
    return text(await toEnd(id));
  };

  it('answer what is printed since a position, both streams in order, and how they ended', async () => {
    const id = await start('echo one; sleep 0.1; echo two >&2; read -r x; echo "got $x"; exit 3');
    const first = await call<Read>('shell_read', { shell_id: id, wait_ms: 60_000 });
    assert.deepEqual(
      [first.output[0], first.running, first.code],
      [{ stream: 'stdout', text: 'one\n' }, true, undefined],
    );
    await eventually(async () => (await call<Read>('shell_read', { shell_id: id })).next === 8, 'both lines');
    assert.equal(await write(id, 'data\n'), 'ok');
    const last = await toEnd(id, 4);
    assert.deepEqual(last.output, [
      { stream: 'stderr', text: 'two\n' },
      { stream: 'stdout', text: 'got data\n' },
    ]);
    assert.deepEqual([last.running, last.code, last.lost, last.more], [false, 3, 0, false]);
    assert.deepEqual(await toEnd(id, 4), last);
    assert.equal(await write(id, 'x'), 'shell.ended');
    assert.equal(await refused('shell_signal', { shell_id: id }), 'shell.ended');
  });

  it('send what is printed while a call waits as events of that call', async () => {
    const id = await start('read -r x; echo a; read -r x; echo b >&2');
    const events: EventMessage[] = [];
    const reading = runtime.call(
      { tool: 'shell_read', args: { shell_id: id, wait_ms: 60_000, until: 'exit' } },
      { onEvent: (event) => events.push(event) },
    );
    const outputs = () => events.filter(({ event }) => event === 'TaskOutput').map(({ data }) => data);
    assert.equal(await write(id, '\n'), 'ok');
    await eventually(() => outputs().length === 1, 'the first output');
    assert.equal(await write(id, '\n', true), 'ok');
    assert.ok((await reading).ok);
    assert.deepEqual(outputs(), [
      { stream: 'stdout', text: 'a\n' },
      { stream: 'stderr', text: 'b\n' },
    ]);
  });

  it('keep folder, variables and status of a plain shell between commands', async () => {
    const answer = await said('cd sub', 'x=5', 'cat a.txt; echo "$x"', 'test -e nothing', 'echo "status $?"');
    assert.equal(answer, 'hello\n5\nstatus 1\n');
  });

  it('decide each command of a plain shell as shell_exec does', async () => {
    const id = await start('bash');
    const lines: readonly [string, string][] = [
      ['rm -rf .', 'shell.not_allowed'],
      ['echo ok; rm -rf .', 'shell.not_allowed'],
      ['echo $(rm x)', 'shell.not_allowed'],
      ['cat < secret.txt', 'policy.denied'],
      ['x=rm', 'ok'],
      ['$x y', 'shell.dynamic'],
      ['eval "rm x"', 'shell.wrapper'],
      ['alias echo=rm', 'shell.wrapper'],
      ['cd sub', 'ok'],
      ['echo x > kept.txt', 'policy.denied'],
      ['echo x > ../secret.txt', 'path.outside_workspace'],
      ['sh -c "rm x"', 'shell.not_allowed'],
      ['bash', 'shell.wrapper'],
    ];
    for (const [line, reason] of lines)
      assert.match(`${line} ${await write(id, line)}`, new RegExp(`${reason}$`));
    await call('shell_signal', { shell_id: id, signal: 'KILL' });
  });

  it('are no other shell than bash without options', async () => {
    for (const cmd of ['sh', 'bash -i', 'zsh', 'dash ']) {
      const { errors } = await tell('shell_start', { cmd });
      assert.deepEqual(
        [errors[0]?.reason, /start "bash"/.test(errors[0]?.message ?? '')],
        ['shell.wrapper', true],
      );
    }
  });

  it('take no command in pieces, and let none read what is written next', async () => {
    const id = await start('bash');
    for (const half of [
      "echo '",
      'echo \\',
      'cat <<E\nx',
      'if true; then',
      'echo $(',
      'echo a |',
      'for x in a; do',
    ])
      assert.equal(await write(id, half), 'shell.unparsable', half);
    assert.equal(await write(id, 'continue; echo no'), 'ok');
    assert.equal(await write(id, 'read -r x; cat; head -c 3; echo "[$x]"'), 'ok');
    assert.equal(await write(id, "cat <<'E'\ntouch made\nE"), 'ok');
    // By a descriptor that it found: a command is lost, or runs again, but nothing else is run.
    assert.equal(await write(id, 'head -c 1 <&10'), 'ok');
    assert.equal(await write(id, 'echo "; touch made"'), 'ok');
    const forged = String.raw`touch made\n../made\n/tmp/x\na[$(touch made)]\n5\n`;
    assert.equal(await write(id, `printf '${forged}' > /dev/fd/10`), 'ok');
    assert.equal(await write(id, 'echo "; touch made" > /tmp/x'), 'ok');
    assert.equal(await write(id, 'exit 7'), 'ok');
    const end = await toEnd(id);
    assert.equal(end.code, 7);
    assert.match(text(end), /^\[\]\ntouch made\n[0-9]; touch made\n$/);
    assert.equal(existsSync(workspace.path('made')), false);
  });

  it('refuse what an earlier command set to be evaluated by a later one', async () => {
    const id = await start('bash', { env: { GIVEN: 'a[$(touch made)]' } });
    assert.equal(await write(id, "y='a[$(touch made)]'"), 'ok');
    for (const line of ['echo $((y))', 'echo $((GIVEN))', 'y=1; echo $((y))'])
      assert.equal(await write(id, line), 'shell.dynamic', line);
    await call('shell_signal', { shell_id: id, signal: 'KILL' });
  });

  it('decide what an interpreter is given as code in a word', async () => {
    const id = await start('python3');
    assert.equal(await write(id, 'print(6 * 7)\n'), 'ok');
    assert.equal(await write(id, 'import os; os.system("touch made")\n'), 'policy.denied');
    assert.equal(await write(id, 'os.sys'), 'shell.unparsable');
    assert.equal(await write(id, '', true), 'ok');
    assert.equal(text(await toEnd(id)), '42\n');
    const script = await start('node sub/a.txt');
    assert.equal(await write(script, 'os.system'), 'ok');
    const hidden = await start('cat | node');
    assert.equal(await write(hidden, '"os.system"\n'), 'policy.denied');
    await call('shell_signal', { shell_id: hidden, signal: 'KILL' });
  });

  it('are interrupted by INT and ended by KILL, with what they detached', async () => {
    const id = await start('bash');
    assert.equal(await write(id, 'echo begun; sleep 1000'), 'ok');
    await call<Read>('shell_read', { shell_id: id, wait_ms: 60_000 });
    await call('shell_signal', { shell_id: id, signal: 'INT' });
    assert.equal(await write(id, 'echo "status $?"'), 'ok');
    const { output } = await call<Read>('shell_read', { shell_id: id, since: 6, wait_ms: 60_000 });
    assert.equal(output[0]?.text, 'status 130\n');
    assert.equal(await write(id, 'setsid sleep 4711 & echo detached'), 'ok');
    await eventually(async () => JSON.stringify(await processes('sleep 4711')) !== '[]', 'the sleeper');
    await call('shell_signal', { shell_id: id, signal: 'KILL' });
    const end = await toEnd(id);
    assert.deepEqual([end.running, end.code, end.signal], [false, 137, 'SIGKILL']);
    await eventually(async () => JSON.stringify(await processes('sleep 4711')) === '[]', 'its end');
  });
  const processes = async (filter: string) =>
    (await call<{ processes: readonly unknown[] }>('proc_list', { filter })).processes;

  it('keep the last of a flood, and say how much was lost', async () => {
    const id = await start('yes 0123456789 | head -c 30000000; echo end');
    const { next, running } = await toEnd(id, 29_999_999);
    assert.deepEqual([next, running], [30_000_004, false]);
    const read = await call<Read>('shell_read', { shell_id: id, max_bytes: 100 });
    assert.ok(read.lost > 28_000_000 && read.lost < 29_100_000, String(read.lost));
    assert.deepEqual([read.more, read.next], [true, read.lost + 100]);
  });

  it('hide secret variables in what is printed', async () => {
    const id = await start('printf "%s" "a $API_TOKEN b"; sleep 0.05; printf "tail"', {
      env: { API_TOKEN: 'hunter22' },
    });
    assert.equal(text(await toEnd(id)), 'a [redacted] btail');
  });

  it('move away what they may not make, and say so when they have ended', async () => {
    const id = await start('touch sub/k.pem');
    const { ended, running } = await toEnd(id);
    assert.deepEqual([running, ended?.reason], [false, 'policy.quarantined']);
    assert.equal(existsSync(workspace.path('sub/k.pem')), false);
    assert.equal(existsSync(workspace.path(`.haft/quarantine/${id}/sub/k.pem`)), true);
  });

  it('are seen by the session that started them alone', async () => {
    await runtime.sessions.open({ id: 'other' });
    const id = await start('sleep 1000', { name: 'mine' });
    const shells = async (session?: string) =>
      (await call<{ shells: readonly { shell_id: string; name?: string }[] }>('shell_list', {}, session))
        .shells;
    assert.equal((await shells()).at(-1)?.name, 'mine');
    assert.deepEqual(await shells('other'), []);
    for (const [tool, args] of [
      ['shell_read', {}],
      ['shell_write', { input: 'x\n' }],
      ['shell_signal', { signal: 'KILL' }],
    ] as const)
      assert.equal(await refused(tool, { shell_id: id, ...args }, 'other'), 'shell.unknown', tool);
    assert.equal((await call<Read>('shell_read', { shell_id: id })).running, true);
    await call('shell_signal', { shell_id: id, signal: 'KILL' });
  });

  it('leave an intent and an outcome of their own in the audit', async () => {
    const id = await start('exit 4');
    await toEnd(id);
    await eventually(async () => (await runtime.audit.rows({ callId: id })).length === 2, 'both rows');
    const [intent, outcome] = await runtime.audit.rows({ callId: id });
    assert.deepEqual([intent?.phase, outcome?.phase, outcome?.outcome], ['intent', 'outcome', 'ok']);
    assert.deepEqual([outcome?.facts?.exit, outcome?.tool], [4, 'shell_start']);
    assert.equal((await runtime.audit.verify()).ok, true);
  });

  it('are refused where the process ends with the call', async () => {
    const { errors } = await runtime.call({ tool: 'shell_start', args: { cmd: 'sleep 1' } }, { once: true });
    assert.equal(errors[0]?.reason, 'shell.host');
    assert.match(errors[0]?.message ?? '', /haft serve.*haft mcp/);
  });
});
