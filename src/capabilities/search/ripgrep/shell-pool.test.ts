import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { eventually } from '../../../../test/support/eventually.ts';
import { createShellPool, EXTRA_INPUT, type Program, startKeptShell } from './shell-pool.ts';

/** The last bytes of what a program prints are handed on only when more follows, or it has ended. */
const PADDING = '.'.repeat(64);

const never = new AbortController().signal;

/** Runs a shell script as the program. */
function script(text: string, more: Partial<Program> = {}) {
  const output: Buffer[] = [];
  const program: Program = {
    path: '/bin/sh',
    args: ['-c', text],
    cwd: '/',
    onOutput: (chunk) => output.push(chunk) > 0,
    ...more,
  };
  return { program, text: () => Buffer.concat(output).toString('utf8') };
}

const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}`) && !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describe('createShellPool', { skip: process.platform === 'linux' ? false : 'needs /proc' }, () => {
  const pool = createShellPool();
  after(() => pool.close());

  it('hands on all output, complaints and the exit code', async () => {
    const { program, text } = script('printf "a\\nb"; echo no >&2; exit 7');
    assert.deepEqual(await pool.run(program, never), { code: 7, complaints: 'no\n' });
    assert.equal(text(), 'a\nb');
  });

  it('hands on output of any size and shape', async () => {
    const { program, text } = script(
      'i=0; while [ $i -lt 20000 ]; do echo "line $i end_"; i=$((i+1)); done; printf end_',
    );
    assert.equal((await pool.run(program, never)).code, 0);
    assert.equal(text(), `${Array.from({ length: 20_000 }, (_, i) => `line ${i} end_\n`).join('')}end_`);
  });

  it('passes arguments as they are, the folder, and input to read', async () => {
    const odd = ['a b', "it's", '"$HOME" `id` $(id)', 'line\nbreak', '', '-n', '\\', 'ü'];
    const { program, text } = script(`for a; do printf "%s|" "$a"; done; pwd; cat ${EXTRA_INPUT}`, {
      args: ['-c', `for a; do printf "%s|" "$a"; done; pwd; cat ${EXTRA_INPUT}`, 'sh', ...odd],
      cwd: '/usr',
      extraInput: `$HOME\n'x'\n\\`,
    });
    assert.equal((await pool.run(program, never)).code, 0);
    assert.equal(text(), `${odd.join('|')}|/usr\n$HOME\n'x'\n\\\n`);
  });

  it('gives programs nothing of the environment and no input', async () => {
    const { program, text } = script('cat; env | sort | cut -d= -f1');
    await pool.run(program, never);
    assert.deepEqual(text().trim().split('\n'), ['LC_ALL', 'OLDPWD', 'PATH', 'PWD']);
  });

  it('says that a program was ended by a signal, or cannot be started', async () => {
    assert.equal((await pool.run(script('kill -9 $$').program, never)).code, 128 + 9);
    const missing = { ...script('').program, path: '/nowhere/at all' };
    assert.equal((await pool.run(missing, never)).code, 127);
  });

  it('ends a program, and what it started, when its output is refused', async () => {
    let pids: number[] = [];
    const { program } = script(`sleep 100 & echo $$ $! ${PADDING}; wait`, {
      onOutput(chunk) {
        pids = chunk.toString('utf8').split(' ').slice(0, 2).map(Number);
        return false;
      },
    });
    assert.equal((await pool.run(program, never)).code, undefined);
    await eventually(() => pids.length === 2 && !pids.some(isAlive), 'the end of both shells');
  });

  it('ends a program when its call is aborted, and starts the next one afresh', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    let pid = 0;
    const { program } = script(`echo $$ ${PADDING}; exec sleep 100`, {
      onOutput(chunk) {
        pid = Number.parseInt(chunk.toString('utf8'), 10);
        controller.abort(reason);
        return true;
      },
    });
    await assert.rejects(pool.run(program, controller.signal), (thrown) => thrown === reason);
    await eventually(() => pid > 0 && !isAlive(pid), 'the end of the shell');
    assert.equal((await pool.run(script('exit 3').program, never)).code, 3);
  });

  it('lets few run at once; the others wait, and can be aborted meanwhile', async () => {
    const started: (() => void)[] = [];
    let running = 0;
    let most = 0;
    const counting = createShellPool(() => {
      const shell = startKeptShell();
      return {
        ...shell,
        get gone() {
          return shell.gone;
        },
        async run(program) {
          most = Math.max(most, ++running);
          await new Promise<void>((resolve) => started.push(resolve));
          return shell.run(program).finally(() => running--);
        },
      };
    });
    const controller = new AbortController();
    const runs = Array.from({ length: 9 }, (_, i) => counting.run(script(`exit ${i}`).program, never));
    const aborted = counting.run(script('').program, controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(aborted, /enough/);
    for (let at = 0; at < 9; at++) {
      await eventually(() => started.length > at, 'another shell');
      started[at]!();
    }
    assert.deepEqual(
      (await Promise.all(runs)).map(({ code }) => code),
      [0, 1, 2, 3, 4, 5, 6, 7, 8],
    );
    assert.equal(most, 4);
    counting.close();
  });

  it('ends everything when it is closed', async () => {
    const closing = createShellPool();
    let pid = 0;
    const { program } = script(`echo $$ ${PADDING}; exec sleep 100`, {
      onOutput(chunk) {
        pid = Number.parseInt(chunk.toString('utf8'), 10);
        closing.close();
        return true;
      },
    });
    assert.equal((await closing.run(program, never)).code, undefined);
    await eventually(() => pid > 0 && !isAlive(pid), 'the end of the shell');
  });
});
