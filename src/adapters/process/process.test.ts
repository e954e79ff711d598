import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  type CallFixture,
  type ProgramFixture,
  withPrograms,
} from '../../capabilities/exec/programs-for-tests.ts';
import type { AdapterConnection, Invocation, InvocationResult } from '../../contract/adapter.ts';
import type { Effect } from '../../contract/effect.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import { ToolpackLoader } from '../../loader/tool-yaml/toolpack-loader.ts';
import { adapterSuite } from '../../testing/adapter-suite.ts';
import { handlesOn, installationOf, invocationOf, runningPrograms } from '../fixtures-for-tests.ts';
import { packFiles } from '../pack-for-tests.ts';
import { bindYamlTool } from '../yaml-use.ts';
import { createProcessAdapter, type ProcessAdapterHandles } from './process.ts';

interface Opened {
  readonly connection: AdapterConnection;
  readonly fixture: ProgramFixture;
  readonly tools: readonly BoundTool[];
  call(id: string, input?: unknown, rest?: Partial<Invocation>): Promise<InvocationResult>;
  effects(id: string, input?: unknown): Promise<readonly Effect[]>;
}

async function withPack<T>(
  files: Readonly<Record<string, string>>,
  use: (opened: Opened) => Promise<T>,
  { config = {}, ...handles }: Partial<ProcessAdapterHandles> & { config?: JsonObject } = {},
): Promise<T> {
  return withPrograms(files, async (fixture) => {
    const loader = new ToolpackLoader();
    await loader.loadDir(join(fixture.root, 'packs/p'));
    const tools = loader.list().flatMap(bindYamlTool);
    const adapter = createProcessAdapter({ handlesFor: handlesOn(fixture), ...handles });
    const installation = installationOf('pack', config);
    const connection = await adapter.open(installation, tools);
    try {
      return await use({
        connection,
        fixture,
        tools,
        call: (id, input = {}, rest = {}) => connection.invoke(invocationOf(id, input, rest)),
        async effects(id, args = {}) {
          const tool = tools.find(({ contract }) => contract.id === id) as BoundTool;
          return (
            (await adapter.effects?.({ installation, tool, args, site: { place: (path) => path } })) ?? []
          );
        },
      });
    } finally {
      await connection.close();
    }
  });
}

const PYTHON_TOOLS = `
import json, time

def echo(input):
    print("this is no part of the answer")
    return input

def fail(input):
    raise ValueError("failed as asked")

def big(input):
    return {"text": "x" * 256 * 1024}

def wait(input, context):
    context["progress"](50)
    time.sleep(600)

async def later(input):
    import asyncio
    await asyncio.sleep(0)
    return {"later": True}

class Box:
    @staticmethod
    def inner(input, context):
        print(json.dumps({"progress": {"pct": 5, "message": "printed"}}))
        return {"action": context["action"], "config": context["config"]}

count = 0
def counted(input):
    global count
    count += 1
    return count

def leave(input):
    raise SystemExit(3)

def crash(input):
    import os
    os._exit(9)

def nan(input):
    return float("nan")
`;

const NODE_TOOLS = `
export const echo = (input) => { console.log('this is no part of the answer'); return input; };
export const fail = () => { throw new TypeError('failed as asked'); };
export const big = () => ({ text: 'x'.repeat(256 * 1024) });
export const wait = (_, { progress }) => { progress(50); return new Promise(() => setInterval(() => {}, 1000)); };
export const later = async () => { await null; return { later: true }; };
let count = 0;
export const counted = () => ++count;
`;

const suiteTools = (kind: 'python' | 'node', warm: boolean) =>
  ['echo', 'fail', 'big', 'wait'].map(
    (name) =>
      [
        `p.${name}`,
        { kind, module: kind === 'python' ? `tools:${name}` : `./tools.mjs:${name}`, warm },
      ] as const,
  );

for (const kind of ['python', 'node'] as const)
  for (const warm of [false, true])
    adapterSuite(`process (${kind}${warm ? ', warm' : ''})`, async () => {
      const over = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<Opened>();
      const files = packFiles(suiteTools(kind, warm), { 'tools.py': PYTHON_TOOLS, 'tools.mjs': NODE_TOOLS });
      const closed = withPack(files, async (one) => {
        opened.resolve(one);
        await over.promise;
      });
      closed.catch(opened.reject);
      const { connection, fixture } = await opened.promise;
      return {
        connection,
        patienceMs: 30_000,
        tools: { echo: 'p.echo', fail: 'p.fail', wait: 'p.wait', big: 'p.big' },
        ...(warm
          ? {
              async crash() {
                for (const pid of runningPrograms(kind === 'python' ? 'python3' : 'node', '"progress"'))
                  if (readFileSync(`/proc/${pid}/environ`, 'latin1').includes(fixture.root))
                    process.kill(pid, 'SIGKILL');
              },
            }
          : {}),
        async close() {
          over.resolve();
          await closed;
        },
      };
    });

describe('process', () => {
  it('runs all kinds, by script, by function and by command, with the same frame and the same answers', async () => {
    const tools = [
      ['p.py', { kind: 'python', script: 'echo.py' }],
      ['p.mod', { kind: 'python', module: 'tools:later' }],
      ['p.deep', { kind: 'python', module: 'tools:Box.inner' }],
      ['p.js', { kind: 'node', script: 'echo.mjs' }],
      ['p.cjs', { kind: 'node', node: 'echo.cjs' }],
      ['p.fn', { kind: 'node', module: './tools.mjs:later' }],
      ['p.php', { kind: 'php', php: 'echo.php' }],
      ['p.cli', { kind: 'cli', cmd: ['./echo.sh', 'a b'] }],
      ['p.text', { kind: 'cli', cmd: ['wc', '-c'] }, { outputSchema: { type: 'string' } }],
    ] as const;
    const scripts = {
      'tools.py': PYTHON_TOOLS,
      'tools.mjs': NODE_TOOLS,
      'echo.py': 'import json, sys\nprint(json.dumps(json.load(sys.stdin)["input"]))',
      'echo.mjs':
        'let t = ""; for await (const c of process.stdin) t += c; console.log(JSON.stringify(JSON.parse(t).input));',
      'echo.cjs':
        'console.log(JSON.stringify({ ok: true, data: JSON.parse(require("fs").readFileSync(0)).input }))',
      'echo.php':
        '<?php $frame = json_decode(file_get_contents("php://stdin"), true); echo json_encode($frame["input"], JSON_PRETTY_PRINT);',
      'echo.sh': '#!/bin/sh\nread -r line; printf \'{"arg": "%s", "frame": %s}\' "$1" "$line"\n',
    };
    await withPack(packFiles(tools, scripts), async ({ call, fixture, tools: bound }) => {
      const { chmodSync } = await import('node:fs');
      chmodSync(join(fixture.root, 'packs/p/echo.sh'), 0o755);
      assert.equal(bound.length, tools.length);
      const input = { n: 1, text: 'grüße "x"\n', list: [true, null] };
      for (const id of ['p.py', 'p.js', 'p.cjs', 'p.php'])
        assert.deepEqual(await call(id, input), { ok: true, data: input }, id);
      for (const id of ['p.mod', 'p.fn'])
        assert.deepEqual(await call(id), { ok: true, data: { later: true } }, id);
      assert.deepEqual(await call('p.cli', { n: 1 }), {
        ok: true,
        data: { arg: 'a b', frame: { input: { n: 1 } } },
      });
      assert.deepEqual(await call('p.text', {}), { ok: true, data: '13' });
      const seen: unknown[] = [];
      const deep = await call('p.deep', {}, { progress: (one) => seen.push(one) });
      assert.deepEqual(
        [deep, seen],
        [{ ok: true, data: { action: null, config: {} } }, [{ pct: 5, message: 'printed' }]],
      );
    });
  });

  it('is told its action and its config', async () => {
    const rest = {
      config: { type: 'object' },
      actions: { list: { description: 'Lists.' }, add: { execution: { module: 'tools:counted' } } },
    };
    const files = packFiles([['p.box', { kind: 'python', module: 'tools:Box.inner' }, rest]], {
      'tools.py': PYTHON_TOOLS,
    });
    await withPack(
      files,
      async ({ call, tools }) => {
        assert.deepEqual(
          tools.map(({ contract }) => [contract.id, contract.description]),
          [
            ['p.box.add', ''],
            ['p.box.list', 'Lists.'],
          ],
        );
        assert.deepEqual(await call('p.box.list'), {
          ok: true,
          data: { action: 'list', config: { depth: 3 } },
        });
        assert.deepEqual(await call('p.box.add'), { ok: true, data: 1 });
        await assert.rejects(call('p.box'), { reason: 'tool.unknown' });
      },
      { config: { depth: 3 } },
    );
  });

  it("answers a tool's failure in its own words, with the first 2 KB of what it wrote to stderr", async () => {
    const noise = 'import sys; sys.stderr.write("first\\n" + "x" * 10000 + "\\nlast words\\n"); ';
    const tools = [
      ['p.exit', { kind: 'python', script: 'exit.py' }],
      ['p.envelope', { kind: 'python', script: 'envelope.py' }],
      ['p.nojson', { kind: 'python', script: 'nojson.py' }],
      ['p.raise', { kind: 'python', module: 'tools:fail' }],
      ['p.leave', { kind: 'python', module: 'tools:leave' }],
      ['p.nan', { kind: 'python', module: 'tools:nan' }],
      ['p.absent', { kind: 'python', module: 'tools:nothing' }],
      ['p.throw', { kind: 'node', module: './tools.mjs:fail' }],
      ['p.php', { kind: 'php', script: 'fail.php' }],
      ['p.none', { kind: 'cli', cmd: ['no-such-program'] }],
    ] as const;
    const scripts = {
      'tools.py': PYTHON_TOOLS,
      'tools.mjs': NODE_TOOLS,
      'exit.py': `${noise}print('{"half": '); sys.exit(7)`,
      'envelope.py': `${noise}print('{"ok": false, "error": {"message": "no such city", "details": {"city": "x"}}}'); sys.exit(1)`,
      'nojson.py': 'print("plain words")',
      'fail.php': '<?php throw new Exception("failed as asked");',
    };
    await withPack(packFiles(tools, scripts), async ({ call }) => {
      const failed = async (id: string) => {
        const answer = await call(id);
        assert.ok(!answer.ok, id);
        return answer as { message: string; details: Record<string, unknown> };
      };
      const exit = await failed('p.exit');
      assert.equal(exit.message, 'its program ended with code 7: last words');
      assert.equal(exit.details.exit_code, 7);
      assert.equal((exit.details.stderr as string).length, 2048);
      assert.match(exit.details.stderr as string, /^first\n/);
      const envelope = await failed('p.envelope');
      assert.deepEqual(
        [envelope.message, envelope.details.city, envelope.details.exit_code],
        ['no such city', 'x', 1],
      );
      assert.deepEqual(await failed('p.nojson'), {
        ok: false,
        message: 'its program did not answer with JSON',
        details: { stderr: '', stdout: 'plain words\n' },
      });
      const raised = await failed('p.raise');
      assert.equal(raised.message, 'ValueError: failed as asked');
      assert.match(raised.details.stderr as string, /Traceback[\s\S]*tools\.py/);
      assert.equal((await failed('p.leave')).message, 'it called sys.exit(3)');
      assert.match((await failed('p.nan')).message, /ValueError: Out of range float/);
      assert.match(
        (await failed('p.absent')).message,
        /AttributeError: module 'tools' has no attribute 'nothing'/,
      );
      assert.equal((await failed('p.throw')).message, 'TypeError: failed as asked');
      assert.match((await failed('p.php')).message, /its program ended with code 255/);
      assert.match((await failed('p.none')).message, /its program ended with code 12[67]/);
    });
  });

  it('sees the variables that it was granted, and nothing else', async () => {
    const rest = {
      env: { passthrough: ['HAFT_PASSED', 'HAFT_ABSENT'], set: { MINE: 'for {{ input.who }}' } },
      templating: { engine: 'jinja2' },
    };
    const tools = [['p.env', { kind: 'python', script: 'env.py' }, rest]] as const;
    const script = { 'env.py': 'import json, os\nprint(json.dumps(dict(os.environ)))' };
    await withPack(
      packFiles(tools, script),
      async ({ call }) => {
        const answer = (await call('p.env', { who: 'ada' })) as { data: Record<string, string> };
        const { LC_CTYPE: _, PATH, ...others } = answer.data;
        assert.ok(PATH);
        assert.deepEqual(Object.keys(others).sort(), [
          'HAFT_PASSED',
          'HOME',
          'LANG',
          'MINE',
          'PWD',
          'TMPDIR',
        ]);
        assert.deepEqual([others.HAFT_PASSED, others.MINE], ['passed', 'for ada']);
      },
      { env: { HAFT_PASSED: 'passed', HAFT_SECRET: 'secret' } },
    );
  });

  it('fills in the templates of a command, word by word: no value becomes another word', async () => {
    const rest = {
      templating: { engine: 'jinja2', context: { flag: '--x' } },
      outputSchema: { type: 'array' },
      credentials: { hub: { context: true } },
    };
    const code = 'import json, sys; print(json.dumps(sys.argv[1:]))';
    const cmd = [
      'python3',
      '-c',
      code,
      '{{ flag }}={{ input.v }}',
      '{{ input.list|join(",") }}',
      '{{ credentials.hub.token }}',
    ];
    await withPack(packFiles([['p.args', { kind: 'cli', cmd }, rest]]), async ({ call, effects }) => {
      const input = { v: 'a b; $(rm -rf /) "q"', list: [1, 2] };
      const answer = await call('p.args', input, { credentials: { hub: { token: 's3cret' } } });
      assert.deepEqual(answer, { ok: true, data: ['--x=a b; $(rm -rf /) "q"', '1,2', 's3cret'] });
      const [declared] = await effects('p.args', input);
      assert.ok(declared?.kind === 'exec' && declared.command.startsWith('python3 -c '));
      assert.match(declared.command, /'--x=a b; \$\(rm -rf \/\) "q"' 1,2 SECRET$/);
      await assert.rejects(call('p.args', {}), /Cannot fill in cmd\[4\] of "p.args": "join" needs|undefined/);
    });
  });

  it('declares what caps and the command say, and is refused what its call did not declare', async () => {
    const caps = {
      network: ['https'],
      filesystem: { read: ['data'], write: ['out'] },
      subprocess: true,
    };
    const tools = [
      ['p.all', { kind: 'python', module: 'tools:echo' }, { caps }],
      ['p.none', { kind: 'python', module: 'tools:echo' }],
      ['p.cli', { kind: 'cli', cmd: ['jq', '.'] }],
      ['p.own', { kind: 'cli', cmd: ['./tool.sh'] }],
    ] as const;
    const scripts = { 'tools.py': PYTHON_TOOLS, 'tool.sh': '#!/bin/sh\n' };
    await withPack(packFiles(tools, scripts), async ({ call, effects, fixture }) => {
      assert.deepEqual(await effects('p.none'), []);
      assert.deepEqual(await effects('p.own'), []);
      assert.deepEqual(await effects('p.cli'), [{ kind: 'exec', command: 'jq .' }]);
      const declared = await effects('p.all');
      assert.deepEqual(declared, [
        { kind: 'exec', command: '*' },
        { kind: 'fs.read', path: 'data', tree: true },
        { kind: 'fs.read', path: 'out', tree: true },
        { kind: 'fs.write', path: 'out', tree: true },
        { kind: 'net.connect', scheme: 'https', host: '*', port: 0 },
      ]);
      const within = (options: CallFixture) => ({
        handles: { exec: fixture.call(options), http: undefined as never },
      });
      await assert.rejects(call('p.all', {}, within({ effects: declared.slice(1) })), {
        reason: 'policy.undeclared',
      });
      await assert.rejects(call('p.cli', {}, within({ effects: [] })), { reason: 'policy.undeclared' });
      assert.deepEqual(await call('p.none', { a: 1 }, within({ effects: [] })), { ok: true, data: { a: 1 } });
    });
  });

  it('reads and writes what caps grant, relative to the workspace', async () => {
    const rest = { caps: { filesystem: { read: ['data'], write: ['out'] } } };
    const script = `
import json, os
def tried(what):
    try: return what()
    except OSError as error: return type(error).__name__
print(json.dumps([
  tried(lambda: open("data/a.txt").read()),
  tried(lambda: open("out/b.txt", "w").write("done")),
  tried(lambda: open("data/c.txt", "w").write("x")),
  tried(lambda: open("secret.txt").read()),
  tried(lambda: open("haft.yaml").read()),
  sorted(os.listdir(".")),
]))`;
    const files = {
      ...packFiles([['p.files', { kind: 'python', script: 'files.py' }, rest]], { 'files.py': script }),
      'data/a.txt': 'alpha',
      'secret.txt': 'secret',
      'haft.yaml': 'version: 1\n',
    };
    await withPack(files, async ({ call, fixture }) => {
      const { data } = (await call('p.files')) as { data: unknown };
      assert.deepEqual(data, [
        'alpha',
        4,
        'OSError',
        'FileNotFoundError',
        'FileNotFoundError',
        ['data', 'out', 'packs'],
      ]);
      assert.equal(readFileSync(join(fixture.root, 'out/b.txt'), 'utf8'), 'done');
    });
  });

  it('says what a run depends on: its code, and the key that stands for the input', async () => {
    const templating = { engine: 'jinja2', cacheKey: '{{ input.city|lower }}' };
    const tools = [
      ['p.key', { kind: 'python', module: 'tools:echo' }, { deterministic: true, templating }],
      ['p.none', { kind: 'python', module: 'tools:echo' }, { deterministic: true }],
    ] as const;
    await withPack(packFiles(tools, { 'tools.py': PYTHON_TOOLS }), async ({ tools: bound }) => {
      const adapter = createProcessAdapter({ handlesFor: () => assert.fail('nothing is run for this') });
      const of = async (id: string, args: object) => {
        const tool = bound.find(({ contract }) => contract.id === id) as BoundTool;
        return adapter.runIdentity?.({ installation: installationOf('p', {}), tool, args });
      };
      const [paris, other] = [
        await of('p.key', { city: 'PARIS' }),
        await of('p.key', { city: 'paris', x: 1 }),
      ];
      assert.deepEqual(paris, other);
      assert.equal(paris?.key, 'paris');
      assert.match(paris?.code ?? '', /[0-9a-f]{64}$/);
      assert.equal((await of('p.none', {}))?.key, undefined);
    });
  });

  it('refuses input over the limit before anything runs, and says when its programs are not there', async () => {
    const limits = { maxInputBytes: 20, maxOutputBytes: 100 };
    const tools = [['p.small', { kind: 'cli', cmd: ['no-such-program'] }, { limits }]] as const;
    await withPack(packFiles(tools), async ({ call, connection }) => {
      await assert.rejects(call('p.small', { text: 'x'.repeat(30) }), { reason: 'input.too_large' });
      const { status, message } = await connection.health(new AbortController().signal);
      assert.deepEqual([status, message], ['unhealthy', 'these programs are not there: no-such-program']);
    });
  });
});

describe('warm workers', () => {
  const warm = (name: string, rest: object = {}) =>
    [`p.${name}`, { kind: 'python', module: `tools:${name}`, warm: true }, rest] as const;
  const scripts = { 'tools.py': PYTHON_TOOLS, 'tools.mjs': NODE_TOOLS };

  it('keep their state between calls, for tools of one profile, and not for others', async () => {
    const tools = [
      warm('counted'),
      ['p.again', { kind: 'python', module: 'tools:counted', warm: true }],
      ['p.other', { kind: 'python', module: 'tools:counted', warm: true }, { env: { set: { A: 'b' } } }],
      ['p.js', { kind: 'node', module: './tools.mjs:counted', warm: true }],
    ] as const;
    await withPack(packFiles(tools, scripts), async ({ call }) => {
      const data = async (id: string) => ((await call(id)) as { data: number }).data;
      assert.deepEqual([await data('p.counted'), await data('p.counted'), await data('p.again')], [1, 2, 3]);
      assert.deepEqual([await data('p.other'), await data('p.js'), await data('p.js')], [1, 1, 2]);
    });
  });

  it('are replaced after so many calls, and after a fault', async () => {
    await withPack(
      packFiles([warm('counted'), warm('crash')], scripts),
      async ({ call }) => {
        const next = async () => ((await call('p.counted')) as { data: number }).data;
        assert.deepEqual([await next(), await next(), await next(), await next()], [1, 2, 3, 1]);
        await assert.rejects(call('p.crash'), { reason: 'call.outcome_unknown' });
        assert.equal(await next(), 1);
      },
      { workers: { maxCalls: 3 } },
    );
  });

  it('are ended by time and by cancelling, and refuse what is too long; the next call finds a new one', async () => {
    const limits = { maxInputBytes: 1000, maxOutputBytes: 1000 };
    const tools = [warm('wait', { timeoutMs: 300 }), warm('big', { limits }), warm('counted')];
    await withPack(packFiles(tools, scripts), async ({ call, fixture }) => {
      await assert.rejects(call('p.wait'), { reason: 'time.deadline' });
      await assert.rejects(call('p.big'), { reason: 'output.too_large' });
      assert.deepEqual(await call('p.counted'), { ok: true, data: 1 });
      assert.equal(ownPrograms(fixture).length, 1, 'of those that were ended nothing is left');
    });
  });

  it('are evicted when nobody came for a while', async () => {
    await withPack(
      packFiles([warm('counted')], scripts),
      async ({ call, fixture }) => {
        await call('p.counted');
        const until = performance.now() + 10_000;
        while (ownPrograms(fixture).length > 0) {
          if (performance.now() > until) assert.fail('it was never ended');
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        assert.deepEqual(await call('p.counted'), { ok: true, data: 1 });
      },
      { workers: { idleMs: 50 } },
    );
  });
});

/** Interpreters of this workspace; their working folder tells whose they are. */
function ownPrograms({ root }: ProgramFixture): number[] {
  return runningPrograms('python3', '"progress"').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(root);
    } catch {
      return false;
    }
  });
}
