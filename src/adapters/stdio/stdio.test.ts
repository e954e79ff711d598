import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { type ProgramFixture, withPrograms } from '../../capabilities/exec/programs-for-tests.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import { boundTool, installationOf } from '../../contract/tools-for-tests.ts';
import { adapterSuite } from '../../testing/adapter-suite.ts';
import { crashPrograms, handlesOn, invocationOf, runningPrograms, stillPace } from '../fixtures-for-tests.ts';
import type { ServerConnection, ServerDeps } from '../server-adapter.ts';
import { createStdioAdapter } from './stdio.ts';

const FIXTURE = join(import.meta.dirname, 'fixture.py');
const NAMES = ['echo', 'fail', 'wait', 'big', 'flood', 'env', 'still_waiting', 'exit'];
const tools = (idempotent = false): BoundTool[] =>
  NAMES.map((name) => boundTool(name, 'stdio', { name }, { idempotent }));
const never = new AbortController().signal;

interface Opened {
  readonly connection: ServerConnection;
  readonly fixture: ProgramFixture;
  /** In the arguments of its program and of no other. */
  readonly marker: string;
}

async function withStdio<T>(
  config: JsonObject,
  use: (opened: Opened) => Promise<T>,
  handles: Partial<ServerDeps> = {},
  bound = tools(),
): Promise<T> {
  return withPrograms({}, async (fixture) => {
    const marker = `haft-marker-${process.pid}-${Math.random()}`;
    const adapter = createStdioAdapter({ handlesFor: handlesOn(fixture), ...handles });
    const command = ['python3', FIXTURE, marker];
    const connection = adapter.open(installationOf('things', { command, ...config }), bound);
    try {
      return await use({ connection, fixture, marker });
    } finally {
      await connection.close();
    }
  });
}

adapterSuite('stdio', async () => {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const { promise: opened, resolve } = Promise.withResolvers<Opened>();
  const closed = withStdio({}, async (one) => {
    resolve(one);
    await over;
  });
  const { connection, marker } = await opened;
  return {
    connection,
    patienceMs: 10_000,
    tools: { echo: 'echo', fail: 'fail', wait: 'wait', big: 'big' },
    async crash() {
      crashPrograms('python3', marker);
    },
    async close() {
      end();
      await closed;
    },
  };
});

describe('stdio', () => {
  it('starts nothing before it is needed, and one program for many calls', async () => {
    await withStdio({}, async ({ connection, marker }) => {
      assert.deepEqual(runningPrograms('python3', marker), []);
      await Promise.all([1, 2, 3].map((n) => connection.invoke(invocationOf('echo', { n }))));
      assert.equal(runningPrograms('python3', marker).length, 1);
    });
  });

  it('tells the program that a call was cancelled', async () => {
    await withStdio({}, async ({ connection }) => {
      const controller = new AbortController();
      const progress = () => controller.abort(new Error('enough'));
      await assert.rejects(
        connection.invoke(invocationOf('wait', {}, { signal: controller.signal, progress })),
      );
      const left = await connection.invoke(invocationOf('still_waiting', {}));
      assert.deepEqual(left, { ok: true, data: 0 });
    });
  });

  it('sends an idempotent call again when the program was lost, and no other', async () => {
    await withStdio(
      {},
      async ({ connection, marker }) => {
        let begun = 0;
        let found = 0;
        const end = connection.onChange(() => found++);
        const controller = new AbortController();
        const progress = () => {
          begun++;
          if (begun === 1) crashPrograms('python3', marker);
          else controller.abort(new Error('seen again'));
        };
        const call = invocationOf('wait', {}, { signal: controller.signal, progress });
        await assert.rejects(connection.invoke(call), /seen again/);
        assert.deepEqual([begun, found], [2, 1]);
        end();
      },
      {},
      tools(true),
    );
  });

  it('answers with the details of a failure', async () => {
    await withStdio({}, async ({ connection }) => {
      assert.deepEqual(await connection.invoke(invocationOf('fail', {})), {
        ok: false,
        message: 'failed as asked',
        details: { n: 1 },
      });
    });
  });

  it('refuses an answer that is too long for its line, without holding it, and goes on', async () => {
    await withStdio({ max_output_bytes: 1000 }, async ({ connection }) => {
      const waiting = connection.invoke(invocationOf('wait', {}));
      waiting.catch(() => {});
      const big = invocationOf('big', { bytes: 8 * 2 ** 20 });
      await assert.rejects(connection.invoke(big), { reason: 'output.too_large' });
      assert.deepEqual(await connection.invoke(invocationOf('echo', {})), { ok: true, data: {} });
    });
  });

  it('ends a program that writes without end, does not grow with it, and goes on with another', async () => {
    await withStdio({ max_output_bytes: 1000 }, async ({ connection }) => {
      await connection.invoke(invocationOf('echo', {}));
      const before = process.memoryUsage.rss();
      await assert.rejects(connection.invoke(invocationOf('flood', {})), { reason: 'output.too_large' });
      assert.ok(process.memoryUsage.rss() - before < 64 * 2 ** 20);
      assert.deepEqual(await connection.invoke(invocationOf('echo', {})), { ok: true, data: {} });
    });
  });

  it('gives the program what its config grants, and nothing else', async () => {
    process.env.TEST_PASSED = 'passed';
    process.env.HAFT_TEST_SECRET = 'secret';
    const env = { passthrough: ['TEST_PASSED', 'TEST_ABSENT'], set: { MINE: '1' } };
    await withStdio({ env }, async ({ connection }) => {
      const answer = await connection.invoke(invocationOf('env', {}));
      const names = Object.keys((answer as { data: object }).data).filter((name) => name !== 'LC_CTYPE');
      assert.deepEqual(names.sort(), ['HOME', 'LANG', 'MINE', 'PATH', 'PWD', 'TEST_PASSED', 'TMPDIR']);
    });
    delete process.env.TEST_PASSED;
    delete process.env.HAFT_TEST_SECRET;
  });

  it('says why a program cannot be reached, leaves it alone after several failures, and tries again later', async () => {
    const scheduler = stillPace();
    const command = ['python3', '-c', 'import sys; sys.exit("no such module: things")'];
    await withStdio(
      { command },
      async ({ connection }) => {
        const call = () => connection.invoke(invocationOf('echo', {}));
        const failure = await call().catch((thrown) => thrown);
        assert.equal(failure.reason, 'tool.unhealthy');
        assert.match(failure.message, /ended with code 1/);
        assert.deepEqual(failure.details, { stderr: 'no such module: things' });
        assert.deepEqual(scheduler.slept, [150, 450, 1350], 'with jitter in the upper half of each delay');
        await assert.rejects(call(), /left alone/);
        scheduler.advance(60_000);
        await assert.rejects(call(), /ended with code 1|left alone/);
      },
      { scheduler, breaker: { failures: 4, restMs: 60_000 } },
    );
  });

  it('does not wait for ever for a program that says nothing', async () => {
    await withStdio({ command: ['sleep', '100'], start_timeout_ms: 50 }, async ({ connection }) => {
      const { status, message } = await connection.health(never);
      assert.equal(status, 'unhealthy');
      assert.match(message ?? '', /did not answer its greeting/);
    });
  });

  it('ends a program that nobody called for a while, and starts it again', async () => {
    await withStdio({ idle_ms: 50 }, async ({ connection, marker }) => {
      await connection.invoke(invocationOf('echo', {}));
      await eventually(() => runningPrograms('python3', marker).length === 0, 'the end of the program');
      assert.deepEqual(await connection.invoke(invocationOf('echo', { a: 1 })), { ok: true, data: { a: 1 } });
    });
  });

  it('finds the tools that the program describes, and reports those that cannot be used', async () => {
    await withStdio({}, async ({ connection }) => {
      const { tools: found, problems } = await connection.discover(never);
      assert.deepEqual(
        found.map(({ contract, binding }) => [
          contract.id,
          contract.idempotent,
          contract.mutates,
          binding.target,
        ]),
        [['things.echo', true, false, { name: 'echo' }]],
      );
      assert.deepEqual(problems, [
        '"things" has a tool that cannot be used: "no_schema" has no input schema',
        '"things" has several tools that would be things.get_thing: Get-Thing, get_thing',
      ]);
    });
  });

  it('declares what its program may touch, and writes only for tools that change something', async () => {
    const adapter = createStdioAdapter({ handlesFor: () => assert.fail('nothing is started for this') });
    const caps = { network: ['https'], filesystem: { read: ['data'], write: ['out'] }, subprocess: true };
    const query = (mutates: boolean) => ({
      installation: installationOf('things', { command: ['x'], caps }),
      tool: boundTool('things.echo', 'stdio', {}, { mutates }),
      args: {},
      site: { place: (path: string) => dirname(join(path, 'x')) },
    });
    const reads = { kind: 'fs.read', path: 'data', tree: true };
    const net = { kind: 'net.connect', scheme: 'https', host: '*', port: 0 };
    assert.deepEqual(await adapter.effects?.(query(false)), [reads, net]);
    assert.deepEqual(await adapter.effects?.(query(true)), [
      reads,
      { kind: 'fs.read', path: 'out', tree: true },
      { kind: 'fs.write', path: 'out', tree: true },
      net,
    ]);
  });

  it('refuses a config without a command', () => {
    const adapter = createStdioAdapter({ handlesFor: () => assert.fail('nothing is started for this') });
    for (const config of [{}, { command: 'x' }, { command: [] }, { command: [1] }] as JsonObject[])
      assert.throws(() => adapter.open(installationOf('x', config), []), { reason: 'pack.invalid' });
  });
});
