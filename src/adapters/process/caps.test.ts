// Owns: tools that try to exceed each of their caps and limits, started for the call and kept between calls.
// Refuses: to look away: what was tried must be contained, told rightly, and gone; and this process must not have grown.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import type { InvocationResult } from '../../contract/adapter.ts';
import { packFiles } from '../pack-for-tests.ts';
import { openPack, ownPrograms } from './process-for-tests.ts';

/** Each function is one attempt. The marker is in the environment of every process that it starts. */
const ATTEMPTS = `
import os, socket, subprocess, sys, time

def connect(input):
    socket.create_connection((input["host"], input["port"]), 2)
    return "connected"

def bind_raw(input):
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    return "opened"

def home(input):
    found = []
    for path in input["paths"]:
        try: found.append(os.listdir(path))
        except OSError as error: found.append(type(error).__name__)
    return found

def fork(input):
    if os.fork() == 0:
        time.sleep(600)
    return "forked"

def spawn(input):
    return subprocess.run(["sh", "-c", "echo started"], capture_output=True, text=True).stdout

def sleep(input):
    time.sleep(600)

def stubborn(input):
    import signal
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(one, signal.SIG_IGN)
    time.sleep(600)

def flood(input):
    block = "x" * 1048576
    for _ in range(1024): os.write(input["to"], block.encode())
    return "flooded"

def answer(input):
    return "x" * 67108864

def memory(input):
    held = []
    while True: held.append(bytearray(16 * 1048576))

def write(input):
    with open(input["path"], "w") as file: file.write("written")
    return "written"
`;
const PRINT = 'for _ in range(1024): print("x" * 1048576)';
const NAMES = [...ATTEMPTS.matchAll(/^def (\w+)/gm)].map((match) => match[1] as string);

const MIB = 1024 * 1024;
/** The host may not grow by more, whatever a tool does. */
const MAX_GROWTH = 32 * MIB;

for (const warm of [false, true])
  describe(`a python tool (${warm ? 'kept' : 'started for the call'})`, () => {
    let opened: Awaited<ReturnType<typeof openPack>>;
    before(async () => {
      const limits = { maxInputBytes: 1000, maxOutputBytes: MIB };
      const own = (name: string) => (name === 'sleep' || name === 'stubborn' ? { timeoutMs: 500 } : {});
      const printing = [['p.print', { kind: 'python', script: 'print.py' }, { limits }]] as const;
      const tools = NAMES.map(
        (name) =>
          [
            `p.${name}`,
            { kind: 'python', module: `attempts:${name}`, warm },
            { limits, ...own(name) },
          ] as const,
      );
      opened = await openPack({
        ...packFiles([...tools, ...printing], { 'attempts.py': ATTEMPTS, 'print.py': PRINT }),
        'notes.txt': 'mine',
      });
      // The first call sets the sandbox up; what that takes is not the tool's doing.
      await call('home', { paths: [] });
    });
    after(() => opened.close());

    const call = (name: string, input: object = {}): Promise<InvocationResult> =>
      opened.call(`p.${name}`, input);
    const failure = async (name: string, input: object = {}): Promise<string> => {
      const answer = await call(name, input);
      assert.ok(!answer.ok, `${name} was not stopped: ${JSON.stringify(answer)}`);
      return answer.message;
    };
    /** Of this workspace, whoever started them. At most one worker may be there, and it must be idle. */
    const left = (): number => ownPrograms(opened.fixture).length;
    const isGone = () => assert.ok(left() <= (warm ? 1 : 0), `${left()} processes are left`);

    it('cannot open a connection, to this machine or beyond', async () => {
      let reached = 0;
      const server = createServer(() => reached++).listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const { port } = server.address() as { port: number };
      assert.match(await failure('connect', { host: '127.0.0.1', port }), /^ConnectionRefusedError/);
      assert.match(
        await failure('connect', { host: '192.0.2.1', port: 80 }),
        /^OSError.*Network is unreachable/,
      );
      assert.match(await failure('connect', { host: 'example.org', port: 80 }), /^socket.gaierror|gaierror/);
      assert.match(await failure('bind_raw'), /^(PermissionError|OSError)/);
      server.close();
      assert.equal(reached, 0);
      isGone();
    });

    it('cannot read the home folder, the workspace, or what belongs to others', async () => {
      const secret = join(homedir(), `.haft-caps-test-${process.pid}`);
      mkdirSync(secret, { recursive: true });
      const paths = [
        homedir(),
        secret,
        join(opened.fixture.root, '.haft'),
        '/root',

        '/var/lib',
        '/proc/1/root',
      ];
      const { data } = (await call('home', { paths: [...paths, opened.fixture.root] })) as {
        data: unknown[];
      };
      rmSync(secret, { recursive: true });
      assert.deepEqual(data.at(-1), ['packs']);
      for (const [i, seen] of data.slice(0, -2).entries())
        assert.match(String(seen), /^(FileNotFoundError|PermissionError)$/, paths[i]);
      isGone();
    });

    it('cannot write, to its own pack or anywhere that lasts', async () => {
      for (const path of ['notes.txt', 'packs/p/attempts.py', '/usr/bin/x', '/etc/passwd'])
        assert.match(await failure('write', { path }), /^(OSError|PermissionError|FileNotFoundError)/, path);
      assert.equal(readFileSync(join(opened.fixture.root, 'notes.txt'), 'utf8'), 'mine');
      assert.equal(readFileSync(join(opened.fixture.root, 'packs/p/attempts.py'), 'utf8'), ATTEMPTS);
      isGone();
    });

    it('cannot start another process', async () => {
      assert.match(await failure('fork'), /^PermissionError/);
      assert.match(await failure('spawn'), /^PermissionError/);
      isGone();
    });

    it('is ended when its time is over, however stubborn', async () => {
      // What a kept one printed may be of another call.
      const fields = ['timeout_ms', ...(warm ? [] : ['stdout', 'stderr'])];
      for (const name of ['sleep', 'stubborn'])
        await assert.rejects(call(name), (error: Error & { reason?: string; details?: object }) => {
          assert.deepEqual([error.reason, Object.keys(error.details ?? {})], ['time.deadline', fields]);
          return true;
        });
      await eventually(() => left() <= (warm ? 1 : 0), 'the end of its processes');
    });

    it('is ended when it prints too much, to any stream, or answers too much; and this process does not grow', async () => {
      global.gc?.();
      const before = process.memoryUsage.rss();
      for (const [name, input, reasons] of [
        ['flood', { to: 1 }, ['output.too_large', 'sandbox.limit']],
        ['flood', { to: 2 }, ['output.too_large', 'sandbox.limit']],
        ['answer', {}, ['output.too_large']],
        ['print', {}, ['output.too_large']],
      ] as const) {
        await assert.rejects(call(name, input), (thrown: { reason: string }) => {
          assert.ok((reasons as readonly string[]).includes(thrown.reason), thrown.reason);
          return true;
        });
        await eventually(() => left() <= (warm ? 1 : 0), 'the end of its processes');
      }
      const grown = process.memoryUsage.rss() - before;
      assert.ok(grown < MAX_GROWTH, `this process grew by ${(grown / MIB).toFixed(1)} MiB`);
    });

    it('still answers after all that', async () => {
      assert.deepEqual(await call('home', { paths: [] }), { ok: true, data: [] });
    });
  });
