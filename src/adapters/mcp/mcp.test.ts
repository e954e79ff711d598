import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { withPrograms } from '../../capabilities/exec/programs-for-tests.ts';
import { createHttpCapability } from '../../capabilities/http/handle.ts';
import { createHttpScope } from '../../capabilities/http/servers-for-tests.ts';
import { boundTool, installationOf } from '../../contract/tools-for-tests.ts';
import { adapterSuite } from '../../testing/adapter-suite.ts';
import { invocationOf, stillPace } from '../fixtures-for-tests.ts';
import { createMcpAdapter } from './mcp.ts';
import { FORMS, type Form, type McpFixture, type McpFixtureOptions, withMcp } from './mcp-for-tests.ts';

const never = new AbortController().signal;

async function withServer<T>(
  form: Form,
  use: (fixture: McpFixture) => Promise<T>,
  options: McpFixtureOptions = {},
): Promise<T> {
  const http = createHttpCapability();
  try {
    return await withPrograms({}, ({ call }) =>
      withMcp(form, { exec: call, http: () => http.open(createHttpScope()) }, use, options),
    );
  } finally {
    await http.close();
  }
}

const data = async (answer: Promise<unknown>) => ((await answer) as { data: Record<string, unknown> }).data;

for (const form of FORMS) {
  const title = form.join(', ');
  adapterSuite(`mcp (${title})`, async () => {
    const over = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<McpFixture>();
    const closed = withServer(form, async (fixture) => {
      opened.resolve(fixture);
      await over.promise;
    });
    closed.catch(opened.reject);
    const { connection, crash } = await opened.promise;
    const id = (name: string) => `fixture.${name}`;
    return {
      connection,
      patienceMs: 20_000,
      tools: { echo: id('echo'), fail: id('fail'), wait: id('wait'), big: id('big') },
      crash,
      async close() {
        over.resolve();
        await closed;
      },
    };
  });

  describe(`mcp (${title})`, () => {
    it('finds the tools on all pages, with what the server says about them', async () => {
      await withServer(form, async ({ discovery }) => {
        const isHttp = form[0] === 'http';
        const { tools, problems, server, protocol, instructions } = discovery;
        assert.deepEqual(
          tools.map(({ contract }) => contract.id.replace('fixture.', '')),
          [
            ...(isHttp ? [] : ['bad_header']),
            ...['big', 'count', 'echo', 'fail', 'grow', 'image', 'plain', 'region', 'wait', 'wait_readonly'],
          ],
        );
        assert.deepEqual(
          problems,
          isHttp
            ? [
                '"fixture" has a tool that cannot be used: "bad-header": the x-mcp-header "Price" is not on a text, an integer or a boolean',
              ]
            : [],
        );
        assert.deepEqual([server, instructions], [{ name: 'fixture', version: '1.2.3' }, 'Use them well.']);
        assert.equal(protocol, form[1] === 'modern' ? '2026-07-28' : '2025-11-25');
        const of = (name: string) =>
          tools.find(({ contract }) => contract.id === `fixture.${name}`)?.contract;
        assert.deepEqual(
          [of('plain')?.title, of('plain')?.idempotent, of('plain')?.mutates],
          ['Plain', true, true],
        );
        assert.deepEqual([of('wait_readonly')?.idempotent, of('wait_readonly')?.mutates], [true, false]);
        assert.deepEqual([of('echo')?.description, of('echo')?.version], ['Answers its arguments.', '1.2.3']);
        assert.deepEqual([of('plain')?.textField, of('echo')?.textField], ['text', undefined]);
      });
    });

    it('answers text as text, and keeps what is no text', async () => {
      await withServer(form, async ({ connection }) => {
        const plain = await connection.invoke(invocationOf('fixture.plain', {}));
        assert.deepEqual(plain, { ok: true, data: { text: 'just text' } });
        assert.deepEqual(await data(connection.invoke(invocationOf('fixture.image', {}))), {
          text: 'see',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          ],
        });
      });
    });

    it('tells the server that a call was cancelled', async () => {
      await withServer(form, async ({ connection }) => {
        const controller = new AbortController();
        const seen: unknown[] = [];
        const progress = (one: unknown) => {
          seen.push(one);
          controller.abort(new Error('enough'));
        };
        const call = invocationOf('fixture.wait', {}, { signal: controller.signal, progress });
        await assert.rejects(connection.invoke(call), /enough/);
        assert.deepEqual(seen, [{ pct: 50, message: 'waiting' }]);
        const counted = () => data(connection.invoke(invocationOf('fixture.count', {})));
        await eventually(async () => (await counted()).cancelled === 1, 'the end of the call at the server');
      });
    });

    it('sends a lost call again where its tool only reads, and only there', async () => {
      await withServer(form, async ({ connection, crash }) => {
        const begun: string[] = [];
        const controller = new AbortController();
        const call = (tool: string) =>
          connection.invoke(
            invocationOf(
              `fixture.${tool}`,
              {},
              {
                signal: controller.signal,
                async progress() {
                  begun.push(tool);
                  if (begun.length === 2) await crash();
                  if (begun.length === 3) controller.abort(new Error('seen again'));
                },
              },
            ),
          );
        const [lost, again] = await Promise.allSettled([call('wait'), call('wait_readonly')]);
        assert.equal((lost as PromiseRejectedResult).reason.reason, 'call.outcome_unknown');
        assert.match(String((again as PromiseRejectedResult).reason), /seen again/);
        assert.deepEqual(begun.slice(2), ['wait_readonly']);
      });
    });

    it('tells when the tools of the server have changed, and when it was lost and found', async () => {
      await withServer(form, async ({ connection, crash }) => {
        let changes = 0;
        const end = connection.onChange(() => changes++);
        await connection.discover(never);
        // A subscription takes a moment to stand; the server tells only those who stand.
        await eventually(async () => {
          await connection.invoke(invocationOf('fixture.grow', {}));
          return changes > 0;
        }, 'the news');
        const ids = (await connection.discover(never)).tools.map(({ contract }) => contract.id);
        assert.ok(ids.includes('fixture.grown'));
        const before = changes;
        await crash();
        await eventually(async () => {
          await connection.invoke(invocationOf('fixture.plain', {})).catch(() => {});
          return changes > before;
        }, 'the news of a new server');
        end();
      });
    });

    it('refuses an answer over the limit, and goes on', async () => {
      const config = { max_output_bytes: 1000 };
      await withServer(
        form,
        async ({ connection }) => {
          const big = connection.invoke(invocationOf('fixture.big', { bytes: 2 ** 20 }));
          await assert.rejects(big, { reason: 'output.too_large' });
          const echo = await data(connection.invoke(invocationOf('fixture.echo', { still: 'here' })));
          assert.deepEqual(echo, { still: 'here' });
        },
        { config },
      );
    });

    it('lays the overlays of the config over the tools', async () => {
      const overlays = {
        '*': { hide: true },
        echo: {
          hide: false,
          rename: 'repeat',
          description: 'Says it again.',
          fix: { volume: 'low' },
          narrow: { text: { maxLength: 3 } },
        },
        absent: { hide: true },
      };
      await withServer(
        form,
        async ({ connection, discovery }) => {
          assert.deepEqual(
            discovery.tools.map(({ contract }) => [contract.id, contract.description]),
            [['fixture.repeat', 'Says it again.']],
          );
          assert.match(discovery.problems.join(), /The overlay "absent" of "fixture" is about no tool/);
          const answer = await data(connection.invoke(invocationOf('fixture.repeat', { text: 'hi' })));
          assert.deepEqual(answer, { text: 'hi', volume: 'low' });
        },
        { config: { overlays } },
      );
    });
  });
}

describe('mcp', () => {
  it('sends arguments as headers where the server asks for it, which it checks', async () => {
    await withServer(['http', 'modern'], async ({ connection }) => {
      const region = 'süd\n1';
      assert.deepEqual(await data(connection.invoke(invocationOf('fixture.region', { region }))), { region });
      assert.deepEqual(await data(connection.invoke(invocationOf('fixture.region', {}))), {});
    });
  });

  it('says why a server cannot be reached, with its own words, and hides no other', async () => {
    await withPrograms({}, async ({ call }) => {
      const scheduler = stillPace();
      const handlesFor = () => ({ exec: call(), http: createHttpCapability().open(createHttpScope()) });
      const adapter = createMcpAdapter({ handlesFor, scheduler });
      const open = (name: string, config: object) => {
        const bound = [boundTool(`${name}.x`, 'mcp', { name: 'x' })];
        return adapter.open(installationOf(name, config as never), bound);
      };
      const crashing = open('crashing', {
        command: ['node', '-e', 'console.error("no key"); process.exit(4)'],
      });
      const silent = open('silent', {
        command: ['sleep', '100'],
        start_timeout_ms: 200,
        probe_timeout_ms: 50,
      });
      const absent = open('absent', { url: 'http://127.0.0.1:9/mcp' });
      const REFUSED = [
        [crashing, /ended with code 4/, { stderr: 'no key' }],
        [silent, /did not answer within 200 ms/, { timed_out: true }],
        [absent, /refuses connections/, { host: '127.0.0.1', port: 9, cause: 'ECONNREFUSED' }],
      ] as const;
      for (const [connection, message, details] of REFUSED) {
        const name = connection === crashing ? 'crashing' : connection === silent ? 'silent' : 'absent';
        const failure = await connection.invoke(invocationOf(`${name}.x`, {})).catch((thrown) => thrown);
        assert.match(failure.message, message);
        assert.deepEqual(failure.details, details);
        assert.equal((await connection.health(never)).status, 'unhealthy');
        await assert.rejects(connection.discover(never), message);
        await connection.close();
      }
    });
  });

  it('refuses a server whose host the call did not declare or policy does not allow', async () => {
    await withServer(['http', 'handshake'], async ({ connection }) => {
      const http = createHttpCapability();
      const handles = {
        exec: undefined as never,
        http: http.open(createHttpScope({ domains: ['example.org'] })),
      };
      await assert.rejects(connection.invoke(invocationOf('fixture.echo', {}, { handles })), {
        reason: 'http.not_allowed',
      });
      await http.close();
    });
  });

  it('declares the host of a server, or what its program may touch', async () => {
    const adapter = createMcpAdapter({ handlesFor: () => assert.fail('nothing is opened for this') });
    const query = (config: object, mutates: boolean) => ({
      installation: installationOf('x', config as never),
      tool: boundTool('x.y', 'mcp', {}, { mutates }),
      args: {},
      site: { place: (path: string) => path },
    });
    assert.deepEqual(await adapter.effects?.(query({ url: 'https://mcp.example/x' }, true)), [
      { kind: 'net.connect', scheme: 'https', host: 'mcp.example', port: 443 },
    ]);
    const caps = { filesystem: { write: ['notes'] } };
    const reads = { kind: 'fs.read', path: 'notes', tree: true };
    assert.deepEqual(await adapter.effects?.(query({ command: ['x'], caps }, false)), []);
    assert.deepEqual(await adapter.effects?.(query({ command: ['x'], caps }, true)), [
      reads,
      { ...reads, kind: 'fs.write' },
    ]);
  });
});
