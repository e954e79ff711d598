import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { createRedactor } from '../../base/redact/create-redactor.ts';
import type { CallScope, ProcessQuery } from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import { fail } from '../../contract/errors.ts';
import { createProcessHandle } from './handle.ts';
import { commandLine, parseStat } from './list-processes.ts';

const ALL = 1_000_000;

const list = (query: Partial<ProcessQuery> = {}, denies: (effect: Effect) => boolean = () => false) => {
  const scope = {
    signal: new AbortController().signal,
    admit(effect: Effect) {
      if (denies(effect)) throw fail('policy.denied', 'Cannot: the test denies it');
    },
  } as unknown as CallScope;
  return createProcessHandle(scope).list({ limit: ALL, ...query });
};
const find = async (pid: number) => (await list()).processes.find((one) => one.pid === pid);

describe('ctx.processes', { skip: process.platform === 'linux' ? false : 'needs /proc' }, () => {
  const started: ChildProcess[] = [];
  /** A process that has begun, with this command line below its shell. */
  const start = async (script: string, ...args: string[]): Promise<number> => {
    const child = spawn('/bin/sh', ['-c', script, ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
    started.push(child);
    const [line] = await once(child.stdout, 'data');
    return Number(line);
  };
  after(() => {
    for (const child of started) child.kill('SIGKILL');
  });

  let sleeper: number;
  before(async () => {
    sleeper = await start('echo $$; read x; exit', 'name', '--password', 'hunter2 and more', 'plain\targ');
  });

  const ps = (pid: number, columns: string) =>
    execFileSync('ps', ['-o', columns, '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .split(/\s+/);

  it('shows a process as ps does', async () => {
    const ours = await find(sleeper);
    const [ppid, rss, user] = ps(sleeper, 'ppid=,rss=,user:32=');
    assert.deepEqual(
      [ours?.ppid, ours?.memMb, ours?.user],
      [Number(ppid), Math.round((Number(rss) / 1024) * 10) / 10, user],
    );
    assert.equal(ours?.ppid, process.pid);
  });

  it('shows processor time as ps does', async () => {
    // Of the oldest there is: it changes least while both look.
    const oldest = (await list()).processes.reduce((a, b) => (b.startedMs < a.startedMs ? b : a));
    const [cpu] = ps(oldest.pid, 'pcpu=');
    // It may have worked meanwhile: what ps saw lies between what was seen before and after, but for the rounding.
    const around = [oldest.cpu, (await find(oldest.pid))!.cpu];
    const [least, most] = [Math.min(...around) - 0.2, Math.max(...around) + 0.2];
    assert.ok(Number(cpu) >= least && Number(cpu) <= most, `${around.join(', then ')}, and ps says ${cpu}`);
  });

  it('shows a command line without its secrets', async () => {
    assert.equal(
      (await find(sleeper))?.cmd,
      '/bin/sh -c echo $$; read x; exit name --password [redacted] plain\targ',
    );
  });

  it('shows this process, when it started, and what it uses', async () => {
    const own = await find(process.pid);
    assert.ok(own && own.memMb > 10 && own.cpu > 0);
    assert.ok(Math.abs(own.startedMs - (Date.now() - process.uptime() * 1000)) < 5000);
  });

  it('shows processes that have no command line by their name, in brackets', async () => {
    // A child that ends only once its parent has become a program that collects nobody.
    const ended = await start('(until grep -q sleep /proc/$$/comm; do :; done) & echo $!; exec sleep 100');
    const isZombie = () => /\) Z/.test(readFileSync(`/proc/${ended}/stat`, 'utf8'));
    await eventually(isZombie, 'the end of the child');
    const shown = await find(ended);
    assert.deepEqual([shown?.cmd, shown?.memMb], ['[sh]', 0]);
  });

  it('shows arguments that are not UTF-8, and names that look like the end of a name', async () => {
    const odd = await start(
      'exec 3<&0; printf "%s\\n" $$; exec /bin/sh -c "read x <&3; exit" "$(printf "a\\377b")" ") R 1"',
    );
    const shown = async () => (await find(odd))?.cmd ?? '';
    await eventually(async () => (await shown()).includes('read x <&3; exit a'), 'the program');
    assert.equal(await shown(), '/bin/sh -c read x <&3; exit a\ufffdb ) R 1');
  });

  it('puts those that used most first, then in order of their ids', async () => {
    const { processes } = await list();
    for (const [i, one] of processes.entries()) {
      const next = processes[i + 1];
      if (next) assert.ok(one.cpu > next.cpu || (one.cpu === next.cpu && one.pid < next.pid));
    }
  });

  it('answers at most as many as asked for, and says how many there are', async () => {
    const { processes, total } = await list({ limit: 1 });
    assert.equal(processes.length, 1);
    assert.ok(total > 1);
  });

  it('filters by the command line as it is shown', async () => {
    const named = await list({ wants: (cmd) => cmd.includes('plain\targ') });
    assert.ok(named.processes.some(({ pid }) => pid === sleeper));
    const secret = await list({ wants: (cmd) => cmd.includes('hunter2') });
    assert.deepEqual(secret, { processes: [], total: 0 });
    const one = await list({ wants: (cmd) => cmd !== '', limit: 1 });
    assert.deepEqual([one.processes.length, one.total > 1], [1, true]);
  });

  it('leaves out processes that end while they are looked at', async () => {
    const loop = await start('echo $$; while :; do /bin/true; done');
    for (let i = 0; i < 20; i++)
      assert.ok((await list()).processes.every(({ cmd, user }) => cmd !== '' && user !== ''));
    process.kill(loop, 'SIGKILL');
  });

  it('asks whether it may', async () => {
    await assert.rejects(
      list({}, ({ kind }) => kind === 'proc.list'),
      { reason: 'policy.denied' },
    );
  });
});

describe('parseStat', () => {
  const rest = 'S 7 1 1 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0 5000 1000000 250 0';

  it('takes the name up to the last parenthesis', () => {
    const stat = { pid: 42, ppid: 7, cpuTicks: 42, startTicks: 5000 };
    for (const name of ['sh', 'a b', ') R 1 (', '(', 'x\ny', '']) {
      assert.deepEqual(parseStat(`42 (${name}) ${rest}`), { ...stat, name });
    }
  });

  it('takes nothing from what is cut off', () => {
    for (const text of ['', '42', '42 (sh', '42 (sh)', '42 (sh) S 7 1'])
      assert.equal(parseStat(text), undefined);
  });
});

const redactor = createRedactor();
const shown = (...args: string[]) => commandLine(args, 'name', redactor);

const TABLE: readonly (readonly [what: string, args: readonly string[], line: string])[] = [
  ['an ordinary line', ['cargo', 'build', '-q'], 'cargo build -q'],
  ['an option with a secret behind it', ['db', '--password', 'two words'], 'db --password [redacted]'],
  ['a short option with a name', ['db', '-token', 'abc'], 'db -token [redacted]'],
  ['an option with a secret in it', ['db', '--api-key=two words', '-v'], 'db --api-key=[redacted] -v'],
  ['an assignment', ['env', 'DB_PASSWORD=two words', 'npm'], 'env DB_PASSWORD=[redacted] npm'],
  ['a name that only sounds like it', ['x', '--max-tokens', '100'], 'x --max-tokens 100'],
  ['a token by its look', ['git', 'clone', `ghp_${'a1B2'.repeat(9)}`], 'git clone [redacted]'],
  ['a header', ['curl', '-H', 'Authorization: Bearer abcdefghijklmnop'], 'curl -H Authorization: [redacted]'],
  [
    'a header with a key',
    ['curl', '-H', 'X-Api-Key: abc', 'Cookie:s=1'],
    'curl -H X-Api-Key: [redacted] Cookie:[redacted]',
  ],
  ['a header without one', ['curl', '-H', 'Accept: text/html'], 'curl -H Accept: text/html'],
  ['a user with a password', ['curl', '-u', 'ada:abc'], 'curl -u ada:[redacted]'],
  ['a user without one', ['sudo', '-u', 'ada', 'ls'], 'sudo -u ada ls'],
  ['a short word for it', ['db', '--db-pass=abc'], 'db --db-pass=[redacted]'],
  ['a password in a URL', ['psql', 'postgres://me:hunter22@db/x'], 'psql postgres://[redacted]@db/x'],
  ['an empty argument', ['x', '', 'y'], 'x  y'],
];

describe('commandLine', () => {
  for (const [what, args, line] of TABLE) it(`shows ${what}`, () => assert.equal(shown(...args), line));

  it('shows the name in brackets where there are no arguments', () => {
    assert.equal(shown(), '[name]');
  });

  it('cuts what is too long, and never in the middle of a character', () => {
    const line = shown('x', '\u{1f600}'.repeat(4000));
    assert.ok(line.length <= 4096 && line.endsWith('…') && line.isWellFormed());
  });
});
