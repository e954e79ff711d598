import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { CallFixture } from '../../capabilities/exec/programs-for-tests.ts';
import { packFiles } from '../pack-for-tests.ts';
import { PYTHON_TOOLS, withPack } from './process-for-tests.ts';

describe("a tool's program", () => {
  it('sees the variables that it was granted, and nothing else', async () => {
    const rest = {
      env: { passthrough: ['MY_PASSED', 'MY_ABSENT'], set: { MINE: 'for {{ input.who }}' } },
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
        assert.deepEqual(Object.keys(others).sort(), ['HOME', 'LANG', 'MINE', 'MY_PASSED', 'PWD', 'TMPDIR']);
        assert.deepEqual([others.MY_PASSED, others.MINE], ['passed', 'for ada']);
      },
      { env: { MY_PASSED: 'passed', HAFT_SECRET: 'secret' } },
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
});
