import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { BoundTool } from '../../contract/manifest.ts';
import { installationOf } from '../../contract/tools-for-tests.ts';
import { adapterSuite } from '../../testing/adapter-suite.ts';
import { packFiles } from '../pack-for-tests.ts';
import { createProcessAdapter } from './process.ts';
import { NODE_TOOLS, openPack, ownPrograms, PYTHON_TOOLS, withPack } from './process-for-tests.ts';

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
      const scripts = { 'tools.py': PYTHON_TOOLS, 'tools.mjs': NODE_TOOLS };
      const { connection, fixture, close } = await openPack(packFiles(suiteTools(kind, warm), scripts));
      return {
        connection,
        patienceMs: 30_000,
        tools: { echo: 'p.echo', fail: 'p.fail', wait: 'p.wait', big: 'p.big' },
        ...(warm
          ? {
              async crash() {
                for (const pid of ownPrograms(fixture, kind === 'python' ? 'python3' : 'node'))
                  process.kill(pid, 'SIGKILL');
              },
            }
          : {}),
        close,
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

  it("answers a tool's failure in its own words, with both ends of what it wrote to stderr", async () => {
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
      assert.match(exit.details.stderr as string, /^first\n[\s\S]*left out[\s\S]*\nlast words\n$/);
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

  it('runs a program again that ended and said that it failed, as `retry` says, where it is idempotent', async () => {
    const retry = { attempts: 3, delayMs: 0, maxDelayMs: 0, factor: 1 };
    const caps = { filesystem: { write: ['state'] } };
    const more = { retry, caps, mutates: true };
    const count = (name: string, end: string) =>
      `import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const file = 'state/${name}'; const n = existsSync(file) ? Number(readFileSync(file)) + 1 : 1;
writeFileSync(file, String(n)); if (n < 3) { ${end} } else console.log(JSON.stringify({ n }));`;
    const tools = [
      ['p.exits', { kind: 'node', script: 'exits.mjs' }, { ...more, idempotent: true }],
      ['p.says', { kind: 'node', script: 'says.mjs' }, { ...more, idempotent: true }],
      ['p.once', { kind: 'node', script: 'once.mjs' }, { ...more, idempotent: false }],
      ['p.plain', { kind: 'node', script: 'plain.mjs' }, { caps, mutates: true, idempotent: true }],
      ['p.never', { kind: 'node', script: 'never.mjs' }, { ...more, idempotent: true }],
    ] as const;
    const scripts = {
      'exits.mjs': count('exits', 'process.exit(7)'),
      'says.mjs': count('says', `console.log('{"ok": false, "error": "not yet"}')`),
      'once.mjs': count('once', 'process.exit(7)'),
      'plain.mjs': count('plain', 'process.exit(7)'),
      'never.mjs': 'process.exit(9)',
    };
    await withPack({ ...packFiles(tools, scripts), 'state/.keep': '' }, async ({ call }) => {
      assert.deepEqual(await call('p.exits', {}), { ok: true, data: { n: 3 } });
      assert.deepEqual(await call('p.says', {}), { ok: true, data: { n: 3 } });
      for (const id of ['p.once', 'p.plain'])
        assert.match(JSON.stringify(await call(id, {})), /ended with code 7/, id);
      const last = (await call('p.never', {})) as { ok: boolean; message: string };
      assert.deepEqual([last.ok, last.message], [false, 'its program ended with code 9']);
    });
  });
});
