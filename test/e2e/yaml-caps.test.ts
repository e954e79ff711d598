// Owns: python tools that try to exceed each cap, by `haft call`: contained, told rightly, gone, and Haft itself not grown.
// Refuses: the details of each containment; caps.test.ts beside the adapter has them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packFiles } from '../../src/adapters/pack-for-tests.ts';
import { NODE_ARGS } from './support/haft.ts';
import { makeWorkspace } from './support/workspace.ts';

const MARK = `haft-caps-${process.pid}`;
const PYTHON = `
import os, socket, subprocess, sys, time
def nothing(input): return {}
def connect(input):
    socket.create_connection(("127.0.0.1", input["port"]), 2)
    return {}
def home(input): return {"found": os.listdir(input["path"])}
def fork(input):
    if os.fork() == 0: time.sleep(600)
    return {}
def spawn(input): return {"said": subprocess.run(["sh", "-c", "echo started; sleep 600 &"], capture_output=True, text=True).stdout}
def sleep(input): time.sleep(600)
def memory(input):
    held = []
    while True: held.append(bytearray(16 * 1048576))
`;
const PRINT = 'import sys\nblock = "x" * 1048576\nfor _ in range(1024): sys.stdout.write(block)\n';
/** Starts the command and tells the largest memory that it, or whatever it waited for, had. */
const MEASURE = `
import resource, subprocess, sys
ran = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, capture_output=True, text=True)
sys.stdout.write(ran.stdout)
sys.stderr.write(ran.stderr)
sys.stderr.write("\\nMAXRSS %d\\n" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
`;
const KIB_GROWTH = 32 * 1024;
const names = [...PYTHON.matchAll(/^def (\w+)/gm)].map((match) => match[1] as string);

describe('a python tool, by haft call,', () => {
  const limits = { maxInputBytes: 1000, maxOutputBytes: 1024 * 1024 };
  const env = { set: { HAFT_CAPS_MARK: MARK } };
  const own = (name: string) => (name === 'sleep' ? { timeoutMs: 1000 } : {});
  const workspace = makeWorkspace({
    ...packFiles(
      [
        ...names.map(
          (name) =>
            [
              `p.${name}`,
              { kind: 'python', module: `tools:${name}` },
              { limits, env, ...own(name) },
            ] as const,
        ),
        ['p.print', { kind: 'python', script: 'print.py' }, { limits, env }],
      ],
      { 'tools.py': PYTHON, 'print.py': PRINT },
    ),
    'haft.yaml': '{version: 1, packs: [packs/p]}',
  });
  const secret = join(homedir(), `.${MARK}`);
  let usual = 0;

  const call = async (tool: string, args: object = {}) => {
    const command = [process.execPath, ...NODE_ARGS, 'call', tool, JSON.stringify(args), '--json'];
    const child = spawn('python3', ['-c', MEASURE, ...command], { cwd: workspace.root });
    const said = { out: '', err: '' };
    child.stdout.on('data', (chunk) => (said.out += chunk));
    child.stderr.on('data', (chunk) => (said.err += chunk));
    await new Promise((resolve) => child.once('close', resolve));
    const { ok, errors } = JSON.parse(said.out);
    const rss = Number(/MAXRSS (\d+)/.exec(said.err)?.[1]);
    return {
      ok,
      reason: errors[0]?.reason,
      message: String(errors[0]?.message),
      details: errors[0]?.details,
      rss,
    };
  };
  /** Whoever bears the mark was started by a tool. */
  const left = () =>
    readdirSync('/proc').filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(MARK);
      } catch {
        return false;
      }
    });
  const isContained = ({ rss }: { readonly rss: number }) => {
    assert.deepEqual(left(), [], 'a process is left');
    assert.ok(rss - usual < KIB_GROWTH, `grown by ${rss - usual} KiB`);
  };

  before(async () => {
    mkdirSync(secret);
    const runs = [await call('p.nothing'), await call('p.nothing')];
    assert.deepEqual(
      runs.map(({ ok }) => ok),
      [true, true],
    );
    usual = Math.min(...runs.map(({ rss }) => rss));
  });
  after(() => {
    rmSync(secret, { recursive: true });
    workspace.remove();
  });

  it('opens no socket to anybody', async () => {
    let reached = 0;
    const server = createServer(() => reached++).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const tried = await call('p.connect', { port });
    server.close();
    assert.deepEqual([tried.ok, tried.reason, reached], [false, 'tool.failed', 0]);
    assert.match(tried.message, /ConnectionRefusedError/);
    isContained(tried);
  });

  it('reads nothing of the home folder', async () => {
    const tried = await call('p.home', { path: secret });
    assert.deepEqual([tried.ok, tried.reason], [false, 'tool.failed']);
    assert.match(tried.message, /FileNotFoundError|PermissionError/);
    isContained(tried);
  });

  it('starts nothing beside itself', async () => {
    for (const tool of ['p.fork', 'p.spawn']) {
      const tried = await call(tool);
      assert.deepEqual([tried.ok, tried.reason], [false, 'tool.failed'], tool);
      isContained(tried);
    }
  });

  it('is ended when its time is over', async () => {
    const tried = await call('p.sleep');
    assert.deepEqual([tried.ok, tried.reason], [false, 'time.deadline']);
    isContained(tried);
  });

  it('prints a gigabyte to no avail', async () => {
    const tried = await call('p.print');
    assert.deepEqual(
      [tried.ok, tried.reason, tried.details?.artifact],
      [false, 'output.too_large', undefined],
    );
    isContained(tried);
  });
});
