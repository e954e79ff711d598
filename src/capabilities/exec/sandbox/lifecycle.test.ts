// Owns: how programs begin and end: time, cancelling, stubborn trees, a killed host, and what is left afterwards.
// Refuses: to take a program's word for being gone; /proc is asked.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { identities, withSandbox } from './probes.ts';

/** A tree of 50 that holds on to life: it ignores signals, leaves its session and loses its parents. */
const STUBBORN = (mark: string) =>
  `trap '' TERM INT HUP; for i in $(seq 25); do (trap '' TERM; setsid sh -c 'sleep ${mark} & sleep ${mark}' & ) & done; ` +
  `until [ "$(ls -d /proc/[0-9]* | wc -l)" -gt 50 ]; do :; done; echo ready; sleep ${mark}`;

for (const identity of identities()) {
  describe(`the end of a program (${identity})`, () => {
    it('is the end of its whole tree when it is aborted', async () => {
      await withSandbox({ identity }, async ({ sh }) => {
        const mark = uniqueSeconds();
        const cancel = new AbortController();
        const run = sh(STUBBORN(mark), {
          signal: cancel.signal,
          graceMs: 50,
          onOutput: () => cancel.abort(),
        });
        const result = await run;
        assert.equal(result.aborted, true);
        assert.equal(result.out, 'ready\n');
        assert.deepEqual(alive(mark), []);
      });
    });

    it('is the end of its whole tree when its time is over', async () => {
      await withSandbox({ identity }, async ({ sh }) => {
        const mark = uniqueSeconds();
        const result = await sh(`trap '' TERM; sleep ${mark} & while :; do sleep ${mark}; done`, {
          timeoutMs: 300,
          graceMs: 50,
        });
        assert.equal(result.timedOut, true);
        assert.equal(result.signal, 'SIGKILL');
        assert.deepEqual(alive(mark), []);
      });
    });

    it('is the end of what it left in the background', async () => {
      await withSandbox({ identity }, async ({ sh }) => {
        const mark = uniqueSeconds();
        const result = await sh(
          `(setsid sleep ${mark} >/dev/null 2>&1 & ) ; sleep ${mark} >/dev/null 2>&1 & echo done`,
        );
        assert.equal(result.code, 0);
        assert.equal(result.out, 'done\n');
        assert.deepEqual(alive(mark), []);
      });
    });

    it('lets it clean up when it listens', async () => {
      await withSandbox({ identity }, async ({ sh }) => {
        const result = await sh("trap 'echo bye; exit 3' TERM; while :; do sleep 0.01; done", {
          timeoutMs: 200,
          graceMs: 20_000,
        });
        assert.equal(result.out, 'bye\n');
        assert.equal(result.code, 3);
        assert.equal(result.timedOut, true);
      });
    });

    it('comes with the end of its host, however that dies, and nothing is left', async () => {
      const mark = uniqueSeconds();
      const host = startHost(identity, STUBBORN(mark));
      try {
        await host.line('ready\nready');
        assert.ok(alive(mark).length > 40, 'both trees are there');
      } finally {
        host.child.kill('SIGKILL');
        rmSync(host.folder, { recursive: true });
      }
      const left = () => [...alive(mark), ...leftovers(host.child.pid!)];
      await until(
        () => left().length === 0,
        () => left().join(' '),
      );
    });
  });
}

describe('a sandbox', () => {
  it('answers 200 programs at once', async () => {
    await withSandbox({}, async ({ sh }) => {
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, i) => sh(`echo ${i}; exit ${i % 100}`)),
      );
      assert.deepEqual(
        results.map((r) => [r.out, r.code]),
        results.map((_, i) => [`${i}\n`, i % 100]),
      );
    });
  });

  it('runs no more at once than it may, and does not charge waiting to anybody', async () => {
    await withSandbox({ concurrency: 2 }, async ({ sh }) => {
      const results = await Promise.all(
        Array.from({ length: 6 }, () => sh('sleep 0.3; echo x', { timeoutMs: 30_000 })),
      );
      assert.deepEqual(
        results.map((r) => r.out),
        Array(6).fill('x\n'),
      );
    });
  });

  it('says how a program ended', async () => {
    await withSandbox({}, async ({ sh, sandbox }) => {
      assert.equal((await sh('exit 7')).code, 7);
      const killed = await sh('kill -SEGV $$');
      assert.deepEqual([killed.code, killed.signal], [139, 'SIGSEGV']);
      const missing = await sandbox.run({ argv: ['no-such-program'], env: sandbox.baseEnv });
      assert.equal(missing.code, 127);
    });
  });

  it('runs programs and never a builtin or a line of its own shell', async () => {
    await withSandbox({}, async ({ sandbox }) => {
      const run = (...argv: [string, ...string[]]) => sandbox.run({ argv, env: sandbox.baseEnv });
      assert.equal((await run('eval', 'exit 0')).code, 127);
      assert.equal((await run('exit', '0')).code, 127);
      const echo = await run('echo', '-e', "a'b", '$(id)', '', 'new\nline', ';exit 1');
      assert.equal(Buffer.from(echo.stdout).toString(), "a'b $(id)  new\nline ;exit 1\n");
      const long = await run('printf', '%s', 'x'.repeat(120_000));
      assert.equal(long.stdout.length, 120_000);
    });
  });

  it('refuses what cannot be a program', async () => {
    await withSandbox({}, async ({ sandbox }) => {
      const env = sandbox.baseEnv;
      for (const spec of [
        { argv: [''] as [string], env },
        { argv: ['a\0b'] as [string], env },
        { argv: ['-x'] as [string], env },
        { argv: ['true'] as [string], env: { 'A B': '1' } },
      ]) {
        assert.equal((await sandbox.run(spec)).refused?.reason, 'shell.failed');
      }
      assert.equal(
        (await sandbox.run({ argv: ['true', 'x'.repeat(200_000)], env })).refused?.reason,
        'shell.failed',
      );
    });
  });

  it('lets go of a program that is cancelled while it waits for its turn', async () => {
    await withSandbox({ concurrency: 1 }, async ({ sh }) => {
      const first = new AbortController();
      const second = new AbortController();
      const running = sh('sleep 600', { signal: first.signal, graceMs: 0 });
      const waiting = sh('echo ran', { signal: second.signal });
      second.abort();
      assert.deepEqual([(await waiting).aborted, (await waiting).code], [true, null]);
      first.abort();
      assert.equal((await running).aborted, true);
      assert.equal((await sh('echo next')).out, 'next\n');
    });
  });

  it('says of a program that is cancelled while it waits at the gate that it was cancelled', async () => {
    await withSandbox({}, async ({ sandbox }) => {
      const asked = new AbortController();
      const awaits = Promise.resolve();
      // Asked for once the sandbox is there: its first process is killed before anybody looks at it.
      // biome-ignore lint/suspicious/noThenProperty: the gate asks by it, and that is the moment.
      awaits.then = (onDone, onFailed) => {
        if (onDone) asked.abort();
        return Promise.resolve().then(onDone, onFailed);
      };
      const spec = { env: sandbox.baseEnv, signal: asked.signal, graceMs: 0, awaits };
      const { aborted, refused, code } = await sandbox.run({ argv: ['sleep', '600'], ...spec });
      assert.deepEqual([aborted, refused, code], [true, undefined, null]);
    });
  });

  it('does not start a program whose signal is already aborted', async () => {
    await withSandbox({}, async ({ sh }) => {
      const result = await sh('echo ran', { signal: AbortSignal.abort() });
      assert.deepEqual([result.aborted, result.code, result.out], [true, null, '']);
    });
  });

  it('leaves nothing behind when it is closed, and ends what runs', async () => {
    const mark = uniqueSeconds();
    const before = leftovers(process.pid);
    await withSandbox({}, async ({ sandbox, sh }) => {
      const started = Promise.withResolvers<void>();
      const run = sh(`echo up; sleep ${mark}`, { onOutput: () => started.resolve() });
      await started.promise;
      await sandbox.close();
      assert.equal((await run).lost, true);
      assert.equal((await sh('true')).refused?.reason, 'sandbox.unavailable');
    });
    assert.deepEqual(alive(mark), []);
    assert.deepEqual(leftovers(process.pid), before);
  });

  it('leaves nothing for long at whatever point its host dies', async () => {
    for (const made of ['share/seccomp', '1', '1/cmd', '1/gate']) {
      const host = startHost(identities()[0]!, 'echo ran');
      await until(() => scratchOf(host.child.pid!).some((scratch) => existsSync(join(scratch, made))));
      host.child.kill('SIGKILL');
      await once(host.child, 'exit');
      rmSync(host.folder, { recursive: true });
      // Without a keeper it is the next sandbox that removes it.
      await withSandbox({}, ({ sh }) => sh('true'));
      await until(
        () => leftovers(host.child.pid!).length === 0,
        () => `${made}: ${leftovers(host.child.pid!)}`,
      );
    }
  });

  it('does not keep its host alive, and is gone with it', async () => {
    const host = startHost(identities()[0]!, 'echo ran', 'forget');
    const [code] = await once(host.child, 'exit');
    rmSync(host.folder, { recursive: true });
    assert.equal(code, 0);
    await until(() => leftovers(host.child.pid!).length === 0);
  });

  it('begins anew when its keeper was killed', async () => {
    await withSandbox({}, async ({ sh }) => {
      assert.equal((await sh('true')).code, 0);
      for (const pid of keepersOf(process.pid)) process.kill(pid, 'SIGKILL');
      await until(() => keepersOf(process.pid).length === 0);
      assert.equal((await sh('echo again')).out, 'again\n');
    });
    await until(
      () => leftovers(process.pid).length === 0,
      () => leftovers(process.pid).join(' '),
    );
  });
});

/** A number of seconds that no other process sleeps for, by which a tree's processes are found. */
const uniqueSeconds = (): string => `${1000 + Math.floor(Math.random() * 1e6)}.${process.pid}`;

function alive(mark: string): string[] {
  return commandLines()
    .filter(([, line]) => line.split('\0').includes(mark))
    .map(([pid]) => pid);
}

function keepersOf(pid: number): number[] {
  return commandLines()
    .filter(([child, line]) => line.includes('\0haft-keeper\0') && parentOf(child) === pid)
    .map(([child]) => Number(child));
}

function commandLines(): [string, string][] {
  return readdirSync('/proc').flatMap((pid): [string, string][] => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      return [[pid, readFileSync(`/proc/${pid}/cmdline`, 'utf8')]];
    } catch {
      return [];
    }
  });
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}

/** Scratch folders and cgroups carry the process id of their host. */
function leftovers(pid: number): string[] {
  const groups = ['memory', 'pids', 'cpuacct'].flatMap((controller) => {
    const path = new RegExp(`^\\d+:(?:.*,)?${controller}(?:,.*)?:(.*)$`, 'm').exec(
      readFileSync('/proc/self/cgroup', 'utf8'),
    )?.[1];
    return path === undefined ? [] : names(join('/sys/fs/cgroup', controller, path));
  });
  return [...groups.filter((name) => name.startsWith(`haft-${pid}-`)), ...scratchOf(pid)];
}

function scratchOf(pid: number): string[] {
  return [process.env.XDG_RUNTIME_DIR ?? '', '/dev/shm', tmpdir()]
    .flatMap((folder) => names(folder).map((name) => join(folder, name)))
    .filter((path) => path.includes(`/haft-sandbox-${pid}-`));
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

interface Host {
  readonly child: ChildProcess;
  readonly folder: string;
  line(text: string): Promise<void>;
}

/** Another Node.js process that runs a program in a sandbox, and then closes the sandbox or forgets it. */
function startHost(identity: string, line: string, after: 'close' | 'forget' = 'close'): Host {
  const folder = mkdtempSync(join(tmpdir(), 'haft-host-'));
  const fixture = join(import.meta.dirname, 'probes.ts');
  const code = `import { withSandbox } from ${JSON.stringify(fixture)};
    await withSandbox({ identity: ${JSON.stringify(identity)} }, async ({ sh, sandbox }) => {
      const onOutput = (_, chunk) => void process.stdout.write(chunk);
      const line = ${JSON.stringify(line)};
      await Promise.all([sh(line, { onOutput }), sh(line, { onOutput, stdin: 'fed' })]);
      if (${after === 'forget'}) sandbox.close = async () => {};
    });`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: folder },
  });
  return {
    child,
    folder,
    line: (text) =>
      new Promise((resolve, reject) => {
        let seen = '';
        child.stdout!.on('data', (chunk) => {
          seen += chunk;
          if (seen.includes(text)) resolve();
        });
        child.once('exit', (exit) => reject(new Error(`the host ended with ${exit}: ${seen}`)));
      }),
  };
}

async function until(condition: () => boolean, describe: () => string = () => ''): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > deadline) assert.fail(`it never came true: ${describe()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
