// Owns: servers from npm as people install them, contained, killed and restarted under load.
// Refuses: fakes; what a server is told to do must show in its files and in its answers.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type ProgramFixture, withPrograms } from '../../capabilities/exec/programs-for-tests.ts';
import { createHttpCapability } from '../../capabilities/http/handle.ts';
import { createHttpScope } from '../../capabilities/http/servers-for-tests.ts';
import { isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { installationOf } from '../../contract/tools-for-tests.ts';
import { crashPrograms, handlesOn, invocationOf } from '../fixtures-for-tests.ts';
import type { Discovery, ServerConnection } from '../server-adapter.ts';
import { createMcpAdapter } from './mcp.ts';
import { MODULES } from './mcp-for-tests.ts';

const never = new AbortController().signal;
const script = (name: string) => join(MODULES, '@modelcontextprotocol', name, 'dist/index.js');

async function withInstalled<T>(
  name: string,
  config: JsonObject | ((fixture: ProgramFixture) => JsonObject),
  use: (connection: ServerConnection, discovery: Discovery, fixture: ProgramFixture) => Promise<T>,
): Promise<T> {
  const http = createHttpCapability();
  try {
    return await withPrograms({ 'notes/a.txt': 'alpha', 'secret.txt': 'secret' }, async (fixture) => {
      const handlesFor = handlesOn(fixture, http.open(createHttpScope()));
      const adapter = createMcpAdapter({ handlesFor });
      const installation = installationOf(name, typeof config === 'function' ? config(fixture) : config);
      const first = adapter.open(installation, []);
      const discovery = await first.discover(never).finally(() => first.close());
      const connection = adapter.open(installation, discovery.tools);
      try {
        return await use(connection, discovery, fixture);
      } finally {
        await connection.close();
      }
    });
  } finally {
    await http.close();
  }
}

const textOf = async (answer: Promise<unknown>): Promise<string> =>
  ((await answer) as { data: { text: string } }).data.text;

describe('server-everything', () => {
  const config = { command: ['node', script('server-everything'), 'stdio'] };

  it('is installed, called, and sees only its own environment', async () => {
    await withInstalled('everything', config, async (connection, { tools, problems, protocol }) => {
      assert.deepEqual(problems, []);
      assert.equal(protocol, '2025-11-25');
      assert.ok(tools.length >= 10);
      const call = (tool: string, args: object) =>
        connection.invoke(invocationOf(`everything.${tool}`, args));
      assert.equal(await textOf(call('echo', { message: 'hi' })), 'Echo: hi');
      assert.match(await textOf(call('get_sum', { a: 2, b: 3 })), /5/);
      const seen = Object.keys(JSON.parse(await textOf(call('get_env', {}))));
      assert.deepEqual(seen.sort(), ['HOME', 'LANG', 'PATH', 'PWD', 'TMPDIR']);
      const structured = await call('get_structured_content', { location: 'Chicago' });
      assert.ok(
        structured.ok && typeof (structured.data as { temperature: number }).temperature === 'number',
      );
      const image = (await call('get_tiny_image', {})) as { data: { content: { type: string }[] } };
      assert.ok(image.data.content.some(({ type }) => type === 'image'));
      const refused = await call('get_sum', { a: 'x', b: 3 });
      assert.equal(refused.ok, false);
    });
  });

  it('reports progress', async () => {
    await withInstalled('everything', config, async (connection) => {
      const seen: unknown[] = [];
      const progress = ({ pct }: { pct?: number }) => seen.push(pct);
      const args = { duration: 0.2, steps: 4 };
      const id = 'everything.trigger_long_running_operation';
      await connection.invoke(invocationOf(id, args, { progress }));
      assert.deepEqual(seen, [25, 50, 75, 100]);
    });
  });

  it('is installed over streamable HTTP, and found again after it was restarted', async () => {
    const port = await freePort();
    const start = async () => {
      const child = spawn(process.execPath, [script('server-everything'), 'streamableHttp'], {
        env: { ...process.env, PORT: String(port) },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stdout.resume();
      for await (const chunk of child.stderr) if (String(chunk).includes('listening')) break;
      return child;
    };
    let child = await start();
    try {
      await withInstalled('everything', { url: `http://127.0.0.1:${port}/mcp` }, async (connection) => {
        const echo = (message: string) =>
          textOf(connection.invoke(invocationOf('everything.echo', { message })));
        assert.equal(await echo('one'), 'Echo: one');
        child.kill('SIGKILL');
        await once(child, 'exit');
        child = await start();
        assert.equal(await echo('two'), 'Echo: two');
      });
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('server-filesystem', () => {
  const config = (write: boolean) => (fixture: ProgramFixture) => ({
    command: ['node', script('server-filesystem'), fixture.root],
    caps: { filesystem: write ? { write: ['notes'] } : { read: ['notes'] } },
  });

  it('reads and writes what it was granted, whatever it believes it may', async () => {
    await withInstalled('files', config(true), async (connection, _, { root }) => {
      const call = (tool: string, args: object) => connection.invoke(invocationOf(`files.${tool}`, args));
      const read = await call('read_text_file', { path: join(root, 'notes/a.txt') });
      assert.ok(read.ok && JSON.stringify(read.data).includes('alpha'));
      await call('write_file', { path: join(root, 'notes/b.txt'), content: 'beta' });
      assert.equal(readFileSync(join(root, 'notes/b.txt'), 'utf8'), 'beta');
      for (const path of ['secret.txt', '.haft', '../x'])
        assert.equal((await call('read_text_file', { path: join(root, path) })).ok, false, path);
      assert.equal((await call('write_file', { path: join(root, 'new.txt'), content: 'x' })).ok, false);
    });
    await withInstalled('files', config(false), async (connection, _, { root }) => {
      const args = { path: join(root, 'notes/b.txt'), content: 'beta' };
      assert.equal((await connection.invoke(invocationOf('files.write_file', args))).ok, false);
    });
  });
});

describe('server-memory, killed under load', () => {
  it('answers every call once, and calls what was under way unknown', async () => {
    const marker = `notes/memory-${process.pid}-${Math.random()}.json`;
    const config = (fixture: ProgramFixture) => {
      writeFileSync(join(fixture.root, marker), '');
      return {
        command: ['node', script('server-memory'), marker],
        env: { set: { MEMORY_FILE_PATH: join(fixture.root, marker) } },
        caps: { filesystem: { write: ['notes'] } },
      };
    };
    await withInstalled('memory', config, async (connection, _, { root }) => {
      const outcomes = new Map<string, string>();
      let killed = 0;
      const create = async (n: number) => {
        const name = `entity-${n}`;
        const entities = [{ name, entityType: 'test', observations: [] }];
        const outcome = await connection.invoke(invocationOf('memory.create_entities', { entities })).then(
          (answer) => (answer.ok ? 'ok' : 'failed'),
          (thrown) => (isFailure(thrown) ? thrown.reason : 'bug'),
        );
        assert.equal(outcomes.has(name), false, 'answered twice');
        outcomes.set(name, outcome);
      };
      for (let batch = 0; batch < 6; batch++) {
        const running = Array.from({ length: 20 }, (_, n) => create(batch * 20 + n));
        if (batch % 2 === 1) {
          await Promise.race(running);
          crashPrograms('node', marker);
          killed++;
        }
        await Promise.all(running);
      }
      assert.equal(outcomes.size, 120);
      assert.equal(killed, 3);
      const counts = Map.groupBy(outcomes.values(), (outcome) => outcome);
      assert.deepEqual(
        [...counts.keys()].filter((one) => !['ok', 'call.outcome_unknown'].includes(one)),
        [],
      );
      assert.ok((counts.get('call.outcome_unknown')?.length ?? 0) > 0);
      const written = readFileSync(join(root, marker), 'utf8').split('\n').filter(Boolean);
      const names = written.map((line) => (JSON.parse(line) as { name: string }).name);
      assert.equal(new Set(names).size, names.length, 'nothing was written twice');
    });
  });

  it('sends what only reads again, so that it is answered', async () => {
    const config = {
      command: ['node', script('server-everything'), 'stdio', `m-${process.pid}-${Math.random()}`],
    };
    await withInstalled('everything', config, async (connection) => {
      const answers = await Promise.all(
        Array.from({ length: 60 }, async (_, n) => {
          if (n % 20 === 10) crashPrograms('node', config.command[3] as string);
          return textOf(connection.invoke(invocationOf('everything.echo', { message: String(n) })));
        }),
      );
      assert.deepEqual(
        answers,
        answers.map((_, n) => `Echo: ${n}`),
      );
    });
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
