// Owns: what a program sees of the loader: loading all or nothing, lists, snapshots, quarantine, and filled-in defaults.
// Refuses: single rules; rules.test.ts has those.
import assert from 'node:assert/strict';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import { isFailure } from '../../contract/errors.ts';
import { ToolpackLoader, ToolpackValidationError } from '../../index.ts';
import { addFiles, makePack, manifest } from './pack-for-tests.ts';

async function loaded(files: { readonly [path: string]: string }): Promise<ToolpackLoader> {
  const loader = new ToolpackLoader();
  await loader.loadDir(makePack(files));
  return loader;
}

const failureOf = async (work: Promise<unknown>): Promise<ToolpackValidationError> => {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof ToolpackValidationError, String(thrown));
  return thrown;
};

describe('ToolpackLoader', () => {
  it('walks folders, and lists by id', async () => {
    const loader = await loaded({
      'z.tool.yaml': manifest({ id: 'a.first' }),
      'sub/deep/a.tool.yaml': manifest({ id: 'b.second' }),
      'sub/b.tool.yaml': manifest({ id: 'a.a_third' }),
      'sub/notes.yaml': 'not: a manifest',
      'node_modules/x/c.tool.yaml': 'nothing to do with it',
      '.git/d.tool.yaml': 'nothing to do with it',
    });
    assert.deepEqual(
      loader.list().map(({ id }) => id),
      ['a.a_third', 'a.first', 'b.second'],
    );
    assert.deepEqual(loader.ids(), ['a.a_third', 'a.first', 'b.second']);
    assert.equal(loader.get('b.second').source.file, 'sub/deep/a.tool.yaml');
  });

  it('throws tool.unknown for a tool that no pack has, with the nearest name', async () => {
    const loader = await loaded({ 'a.tool.yaml': manifest() });
    assert.throws(() => loader.get('demo.tol'), {
      reason: 'tool.unknown',
      message: /did you mean "demo.tool"/,
    });
    assert.throws(() => new ToolpackLoader().get('a.b'), { reason: 'tool.unknown' });
  });

  it('throws one failure with every diagnostic of every file, and then loads nothing', async () => {
    const loader = new ToolpackLoader();
    const folder = makePack({
      'good.tool.yaml': manifest(),
      'a.tool.yaml': manifest({ id: 'A', timeoutMs: '0' }),
      'b.tool.yaml': manifest({ id: 'b.c', '1': '2', execution: '{ kind: cli }' }),
    });
    const failure = await failureOf(loader.loadDir(folder));
    assert.deepEqual(
      failure.diagnostics.map(({ file, code }) => `${file} ${code}`),
      [
        'a.tool.yaml id.invalid',
        'a.tool.yaml timeout.invalid',
        'b.tool.yaml key.unknown',
        'b.tool.yaml key.missing',
      ],
    );
    assert.ok(isFailure(failure));
    assert.deepEqual([failure.reason, failure.code], ['pack.invalid', 'E_VALIDATION_FAIL']);
    assert.match(failure.message, /4 problems[\s\S]*a\.tool\.yaml:1:5: error id\.invalid/);
    assert.deepEqual(loader.list(), []);
  });

  it('keeps what was loaded before where a folder is not right any more', async () => {
    const folder = makePack({ 'a.tool.yaml': manifest() });
    const loader = new ToolpackLoader();
    await loader.loadDir(folder);
    addFiles(folder, { 'a.tool.yaml': 'id: 1' });
    await failureOf(loader.loadDir(folder));
    assert.deepEqual(loader.ids(), ['demo.tool']);
    addFiles(folder, { 'a.tool.yaml': manifest({ id: 'demo.other' }) });
    await loader.loadDir(folder);
    assert.deepEqual(loader.ids(), ['demo.other']);
  });

  it('loads the good ones in quarantine, and says what it left out', async () => {
    const loader = new ToolpackLoader({ quarantine: true });
    const report = await loader.loadDir(
      makePack({
        'good.tool.yaml': manifest(),
        'bad.tool.yaml': manifest({ id: 'Bad' }),
        'twin1.tool.yaml': manifest({ id: 'x.y' }),
        'twin2.tool.yaml': manifest({ id: 'x.y' }),
      }),
      { label: 'packs/demo' },
    );
    assert.deepEqual(loader.ids(), ['demo.tool']);
    assert.equal(report.tools, 1);
    assert.deepEqual(
      report.diagnostics.map(({ file, line, column, code }) => `${file}:${line}:${column} ${code}`),
      ['packs/demo/bad.tool.yaml:1:5 id.invalid', 'packs/demo/twin2.tool.yaml:1:5 id.duplicate'],
    );
    assert.deepEqual(loader.diagnostics, report.diagnostics);
  });

  it('refuses an id that another file, an action or another pack has', async () => {
    const twice = makePack({ 'a.tool.yaml': manifest(), 'sub/b.tool.yaml': `# moved\n${manifest()}` });
    const [same] = (await failureOf(new ToolpackLoader().loadDir(twice))).diagnostics;
    assert.deepEqual(
      [same?.file, same?.line, same?.column, same?.code],
      ['sub/b.tool.yaml', 2, 5, 'id.duplicate'],
    );
    assert.match(same?.message ?? '', /demo\.tool is already the id of a tool in a\.tool\.yaml/);

    const action = makePack({
      'a.tool.yaml': manifest({ id: 'demo.tool.go' }),
      'b.tool.yaml': manifest({ actions: '{ stop: {}, go: {} }' }),
    });
    const [clash] = (await failureOf(new ToolpackLoader().loadDir(action))).diagnostics;
    assert.deepEqual([clash?.file, clash?.line, clash?.column], ['b.tool.yaml', 9, 22]);

    const loader = await loaded({ 'a.tool.yaml': manifest() });
    const failure = await failureOf(loader.loadDir(makePack({ 'c.tool.yaml': manifest() })));
    assert.equal(failure.diagnostics[0]?.code, 'id.duplicate');
    assert.deepEqual(loader.ids(), ['demo.tool']);
  });

  it('adds up folders, and gives the same bytes for the same packs wherever they lie and however they are written', async () => {
    const one = {
      'x/a.tool.yaml': manifest({ execution: '{ kind: php, php: ../run.php }' }),
      'run.php': '<?php',
    };
    const two = { 'b.tool.yaml': manifest({ id: 'demo.b' }) };
    const a = await loaded(one);
    await a.loadDir(makePack(two));
    const reordered = `# a comment\n${manifest({ id: 'demo.b' }).trimEnd().split('\n').reverse().join('\n')}\n`;
    const b = await loaded({ 'b.tool.yaml': reordered });
    await b.loadDir(makePack(one));
    assert.deepEqual(a.snapshot(), b.snapshot());
    assert.deepEqual(
      a.list().map(({ digest }) => digest),
      b.list().map(({ digest }) => digest),
    );
    const c = await loaded({ ...one, ...two, 'run.php': '<?php echo 1;' });
    assert.notDeepEqual(a.snapshot(), c.snapshot());
    assert.equal((JSON.parse(Buffer.from(a.snapshot()).toString()) as { id: string }[])[0]?.id, 'demo.b');
  });

  it('changes the digest with everything that can change what the tool does, and with nothing else', async () => {
    const files = {
      'a.tool.yaml': manifest({
        inputSchema: '{ $ref: in.json }',
        execution: "{ kind: python, module: 'mod:run' }",
      }),
      'in.json': '{ "type": "object" }',
      'mod.py': 'def run(input): return {}',
    };
    const digestOf = async (more: { readonly [path: string]: string }) =>
      (await loaded({ ...files, ...more })).get('demo.tool').digest;
    const first = await digestOf({});
    assert.match(first, /^[0-9a-f]{64}$/);
    assert.equal(
      await digestOf({ 'a.tool.yaml': `# said\n${files['a.tool.yaml']}`, 'other.py': 'x' }),
      first,
    );
    assert.equal(await digestOf({ 'in.json': '{"type":   "object"}' }), first);
    assert.notEqual(await digestOf({ 'mod.py': 'def run(input): return {1}' }), first);
    assert.notEqual(await digestOf({ 'in.json': '{ "type": "object", "maxProperties": 1 }' }), first);
    assert.notEqual(await digestOf({ 'a.tool.yaml': files['a.tool.yaml'].replace('1000', '1001') }), first);
  });

  it('says where there is no folder, or something else in its place', async () => {
    const folder = makePack({ file: '' });
    assert.equal(
      (await failureOf(new ToolpackLoader().loadDir(join(folder, 'no')))).diagnostics[0]?.code,
      'pack.missing',
    );
    assert.equal(
      (await failureOf(new ToolpackLoader().loadDir(join(folder, 'file')))).diagnostics[0]?.code,
      'pack.not_directory',
    );
  });

  it('points out files that look like manifests and are not read', async () => {
    const loader = await loaded({ 'a.tool.yml': manifest() });
    assert.deepEqual(
      loader.diagnostics.map(({ file, code, severity }) => [file, code, severity]),
      [['a.tool.yml', 'file.name', 'warning']],
    );
  });
});

describe('a loaded tool', () => {
  it('has every default filled in', async () => {
    const { source, digest, ...tool } = (
      await loaded({ 'a.tool.yaml': manifest({ deterministic: 'true' }) })
    ).get('demo.tool');
    assert.deepEqual(tool, {
      id: 'demo.tool',
      version: '1.0.0',
      name: 'demo.tool',
      description: '',
      tags: [],
      deterministic: true,
      idempotent: true,
      mutates: false,
      timeoutMs: 1000,
      limits: { maxInputBytes: 100, maxOutputBytes: 200 },
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      execution: { kind: 'cli', cmd: ['echo'] },
      caps: { network: [], filesystem: { read: [], write: [] }, subprocess: false },
      env: { passthrough: [], set: {} },
      credentials: [],
      actions: [],
    });
    assert.deepEqual([source.file, source.scripts], ['a.tool.yaml', []]);
    assert.equal(digest.length, 64);
  });

  const EXECUTIONS: { readonly [written: string]: unknown } = {
    "{ kind: python, module: 'lib.mod:Tool.run', warm: true }": {
      kind: 'python',
      entry: { by: 'module', module: 'lib.mod', callable: 'Tool.run', folder: 'sub', file: 'sub/lib/mod.py' },
      warm: true,
    },
    "{ kind: python, module: 'top:run' }": {
      kind: 'python',
      entry: { by: 'module', module: 'top', callable: 'run', folder: 'sub', file: 'top/__init__.py' },
      warm: false,
    },
    "{ kind: python, module: 'elsewhere:run' }": {
      kind: 'python',
      entry: { by: 'module', module: 'elsewhere', callable: 'run', folder: 'sub' },
      warm: false,
    },
    '{ kind: python, script: ./lib/mod.py }': {
      kind: 'python',
      entry: { by: 'script', path: 'sub/lib/mod.py' },
      warm: false,
    },
    '{ kind: node, node: ../run.mjs }': {
      kind: 'node',
      entry: { by: 'script', path: 'run.mjs' },
      warm: false,
    },
    "{ kind: node, module: '../run.mjs:main' }": {
      kind: 'node',
      entry: { by: 'module', module: 'run.mjs', callable: 'main', folder: 'sub', file: 'run.mjs' },
      warm: false,
    },
    "{ kind: node, module: '@scope/pkg' }": {
      kind: 'node',
      entry: { by: 'module', module: '@scope/pkg', callable: 'default', folder: 'sub' },
      warm: false,
    },
    '{ kind: php, script: ../run.mjs }': { kind: 'php', entry: { by: 'script', path: 'run.mjs' } },
    '{ kind: cli, cmd: [./lib/mod.py, -x] }': {
      kind: 'cli',
      cmd: ['./lib/mod.py', '-x'],
      script: 'sub/lib/mod.py',
    },
    "{ kind: http, url: 'http://example.org', method: put, headers: { A: b } }": {
      kind: 'http',
      url: 'http://example.org',
      method: 'PUT',
      headers: { A: 'b' },
    },
    "{ kind: http, url: 'https://example.org', body: { a: 1 } }": {
      kind: 'http',
      url: 'https://example.org',
      method: 'POST',
      headers: {},
      body: { a: 1 },
    },
  };
  for (const [written, execution] of Object.entries(EXECUTIONS)) {
    it(`runs ${written}`, async () => {
      const files = { 'sub/lib/mod.py': 'a', 'top/__init__.py': 'b', 'run.mjs': 'c' };
      const tool = (await loaded({ ...files, 'sub/a.tool.yaml': manifest({ execution: written }) })).get(
        'demo.tool',
      );
      assert.deepEqual(tool.execution, execution);
      for (const { path, sha256 } of tool.source.scripts)
        assert.equal(sha256, sha256Hex(files[path as keyof typeof files]));
      const text = JSON.stringify(tool.execution);
      assert.deepEqual(
        tool.source.scripts.map(({ path }) => path),
        Object.keys(files).filter((path) => text.includes(`"${path}"`)),
      );
    });
  }

  it('says what it needs in one spelling', async () => {
    const caps =
      "{ network: [https, http, https], filesystem: { read: [./b/, a/../c, .], write: ['out/**', /opt/x/] } }";
    const tool = (await loaded({ 'a.tool.yaml': manifest({ caps, env: '{ passthrough: [B, A, B] }' }) })).get(
      'demo.tool',
    );
    assert.deepEqual(tool.caps, {
      network: ['http', 'https'],
      filesystem: { read: ['.', 'b', 'c'], write: ['/opt/x', 'out'] },
      subprocess: false,
    });
    assert.deepEqual(tool.env, { passthrough: ['A', 'B'], set: {} });
    assert.equal(tool.mutates, true);
  });

  it('takes the network and the repeatability of an http tool from its request', async () => {
    const of = async (execution: string) =>
      (
        await loaded({ 'a.tool.yaml': manifest({ deterministic: 'false', execution, templating: '{}' }) })
      ).get('demo.tool');
    const get = await of("{ kind: http, url: 'http://example.org/{{ input.a }}' }");
    assert.deepEqual([get.caps.network, get.idempotent], [['http'], true]);
    const post = await of("{ kind: http, url: '{{ config.url }}', method: POST }");
    assert.deepEqual([post.caps.network, post.idempotent], [['http', 'https'], false]);
  });

  it('puts actions over what the tool says', async () => {
    const text = manifest({
      deterministic: 'false',
      execution: "{ kind: http, url: 'https://example.org/{{ input.a }}', headers: { A: b } }",
      templating: '{}',
      actions:
        "\n  write: { mutates: true, timeoutMs: 5, execution: { method: POST, url: 'https://example.org/w' } }\n  list: { description: All of them, outputSchema: { type: array } }",
    });
    const { actions } = (await loaded({ 'a.tool.yaml': text })).get('demo.tool');
    assert.deepEqual(
      actions.map(({ id, name, description, mutates, idempotent, timeoutMs, outputSchema }) => ({
        id,
        name,
        description,
        mutates,
        idempotent,
        timeoutMs,
        outputSchema,
      })),
      [
        {
          id: 'demo.tool.list',
          name: 'list',
          description: 'All of them',
          mutates: false,
          idempotent: true,
          timeoutMs: 1000,
          outputSchema: { type: 'array' },
        },
        {
          id: 'demo.tool.write',
          name: 'write',
          description: '',
          mutates: true,
          idempotent: false,
          timeoutMs: 5,
          outputSchema: { type: 'object' },
        },
      ],
    );
    assert.deepEqual(actions[1]?.execution, {
      kind: 'http',
      url: 'https://example.org/w',
      method: 'POST',
      headers: { A: 'b' },
    });
  });

  it('is the same after its folder was copied', async () => {
    const folder = makePack({
      'a.tool.yaml': manifest({ execution: '{ kind: php, php: run.php }' }),
      'run.php': '<?php',
    });
    const copy = makePack({});
    cpSync(folder, copy, { recursive: true });
    const tools = await Promise.all(
      [folder, copy].map(async (dir) => {
        const loader = new ToolpackLoader();
        await loader.loadDir(dir);
        const { source, ...rest } = loader.get('demo.tool');
        assert.equal(source.folder, dir);
        assert.ok(readFileSync(join(source.folder, source.file)).length > 0);
        return { ...rest, source: { ...source, folder: '' } };
      }),
    );
    assert.deepEqual(tools[0], tools[1]);
  });
});
