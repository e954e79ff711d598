import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import type { Json } from '../../contract/json.ts';
import { rememberCalls } from './open-toolpack.ts';
import type { Agreement, Asking } from './toolpack.ts';
import { moduleText, withPacks } from './toolpack-for-tests.ts';

describe('openToolpack refuses a module', () => {
  const MODULES: readonly {
    readonly what: string;
    readonly code: string;
    readonly text: string;
    readonly message: RegExp;
  }[] = [
    { what: 'that throws', code: 'module.failed', text: "throw new Error('as asked');", message: /as asked/ },
    {
      what: 'without a default export',
      code: 'module.failed',
      text: 'export const x = 1;',
      message: /no default export/,
    },
    { what: 'that ends its process', code: 'module.failed', text: 'process.exit(3);', message: /code 3/ },
    { what: 'that is no TypeScript', code: 'module.failed', text: 'export default {{', message: /./ },
    {
      what: 'whose export is null',
      code: 'field.not_json',
      text: 'export default null;',
      message: /it is null/,
    },
    {
      what: 'that talks over its answers',
      code: 'module.failed',
      text: "process.getBuiltinModule('node:fs').writeSync(1, 'hello\\n'); export default {};",
      message: /no answer to its standard output/,
    },
    {
      what: 'with two tools of one name',
      code: 'name.duplicate',
      text: `${moduleText().replace('export default', 'const one =')}\nexport default [one, one];`,
      message: /"text_stats"/,
    },
    {
      what: 'with a schema that is none',
      code: 'schema.invalid',
      text: moduleText({ input: "{ type: 'strnig' }" }),
      message: /input is no JSON Schema/,
    },
    {
      what: 'with an example that does not fit',
      code: 'example.invalid',
      text: moduleText({ examples: "[{ title: 'first', args: {} }]" }),
      message: /"first" does not fit/,
    },
    {
      what: 'that defines another tool on another machine',
      code: 'definition.unstable',
      text: moduleText({ description: 'hostname()' }, "import { hostname } from 'node:os';"),
      message: /\/0\/fields\/description/,
    },
  ];
  for (const { what, code, text, message } of MODULES) {
    it(`${what}: ${code}`, () =>
      withPacks(async ({ open }) => {
        const { value, diagnostics } = await open({ 'toolpack.ts': text });
        assert.equal(value, undefined);
        const found = diagnostics.find((one) => one.code === code);
        assert.match(found?.message ?? JSON.stringify(diagnostics), message);
        assert.doesNotMatch(found?.message ?? '', /\/tmp/);
      }));
  }
});

describe('openToolpack refuses a folder', () => {
  const FOLDERS: readonly {
    readonly what: string;
    readonly code: string;
    readonly files: Readonly<Record<string, string>>;
  }[] = [
    {
      what: 'whose package.json names no toolpack',
      code: 'toolpack.package',
      files: { 'package.json': '{}' },
    },
    { what: 'whose package.json is no JSON', code: 'toolpack.package', files: { 'package.json': '{' } },
    { what: 'whose module is not there', code: 'toolpack.entry', files: {} },
    {
      what: 'whose module lies outside',
      code: 'toolpack.package',
      files: { 'package.json': '{"haft":{"toolpack":"../x.ts"}}' },
    },
    {
      what: 'without a package that it depends on',
      code: 'toolpack.dependency',
      files: {
        'toolpack.ts': moduleText(),
        'package.json': '{"haft":{"toolpack":"toolpack.ts"},"dependencies":{"left-pad":"1"}}',
      },
    },
  ];
  for (const { what, code, files } of FOLDERS) {
    it(`${what}: ${code}`, () =>
      withPacks(async ({ open }) => {
        const { value, diagnostics } = await open(files);
        assert.equal(value, undefined);
        assert.deepEqual(
          diagnostics.map((one) => one.code),
          [code],
        );
      }));
  }
});

describe('openToolpack', () => {
  it('answers the contracts of all tools of a pack', () =>
    withPacks(async ({ open }) => {
      const { value } = await open({ 'toolpack.ts': moduleText({ title: "'Text'", tags: "['text']" }) });
      assert.equal(value?.tools.length, 1);
      const { id, version, contract, title, deterministic, mutates, tags } = value.tools[0]!.contract;
      assert.deepEqual(
        { id, version, contract, title, deterministic, mutates, tags },
        {
          id: 'text_stats',
          version: '1.2.3',
          contract: 'v1',
          title: 'Text',
          deterministic: true,
          mutates: false,
          tags: ['text'],
        },
      );
      assert.equal(
        value.installation.digest,
        (await open({ 'toolpack.ts': moduleText({ title: "'Text'", tags: "['text']" }) })).value?.installation
          .digest,
      );
    }));

  it('takes a schema of a library that can say itself as JSON Schema', () =>
    withPacks(async ({ open }) => {
      const input =
        "{ '~standard': { jsonSchema: { input: ({ target }) => ({ type: 'object', title: target }) } } }";
      const { value, diagnostics } = await open({ 'toolpack.ts': moduleText({ input }) });
      assert.deepEqual(
        value?.tools[0]?.contract.input,
        { type: 'object', title: 'draft-2020-12' },
        JSON.stringify(diagnostics),
      );
    }));

  it('starts no process for a pack that it knows', () =>
    withPacks(async ({ open, root }) => {
      const cacheFolder = `${root}/.haft/cache/toolpacks`;
      mkdirSync(`${root}/.haft`, { recursive: true });
      const files = { 'toolpack.ts': moduleText() };
      const first = await open(files, { cacheFolder });
      const none = () => ({ exec: undefined as never, http: undefined as never });
      const second = await open(files, { cacheFolder, handlesFor: none });
      assert.deepEqual(second.value?.tools, first.value?.tools);
    }));

  it('calls what was loaded, whatever became of its folder since', () =>
    withPacks(async ({ open, prepare, root }) => {
      const cacheFolder = `${root}/.haft/cache/toolpacks`;
      mkdirSync(`${root}/.haft`, { recursive: true });
      const files = { 'toolpack.ts': moduleText() };
      await open(files, { cacheFolder });
      const { value } = await open(files, { cacheFolder });
      writeFileSync(`${root}/pack2/toolpack.ts`, 'throw new Error("another");\n');
      const { params } = await prepare(value!);
      assert.equal((params as { toolpack: string }).toolpack, value?.installation.digest);
    }));

  it('ends its processes and removes their copies once it is gone, and serves a call that was on its way', () =>
    withPacks(async ({ open, prepare }) => {
      const copies = () =>
        readdirSync(tmpdir()).filter((name) => name.startsWith(`haft-toolpack-${process.pid}-`)).length;
      const before = copies();
      const gone = new AbortController();
      const { value } = await open({ 'toolpack.ts': moduleText() }, { gone: gone.signal });
      assert.equal(copies(), before + 2);
      gone.abort();
      await eventually(() => copies() === before, 'the end of its copies');
      assert.ok((await prepare(value!)).plan);
    }));
});

describe('the digest of a toolpack', () => {
  const DEPENDS = '{"type":"module","haft":{"toolpack":"toolpack.ts"},"dependencies":{"one":"1","haft":"1"}}';
  const files = {
    'package.json': DEPENDS,
    'toolpack.ts': `import { one } from 'one';\n${moduleText({ title: 'one' })}`,
    'node_modules/one/package.json': '{"type":"module","main":"index.js","dependencies":{"two":"1"}}',
    'node_modules/one/index.js': "export { two as one } from 'two';",
    'node_modules/two/package.json': '{"type":"module","main":"index.js"}',
    'node_modules/two/index.js': "export const two = 'Two';",
  };
  const digestOf = async (changes: Readonly<Record<string, string>>) =>
    withPacks(async ({ open }) => {
      const { value, diagnostics } = await open({ ...files, ...changes });
      assert.equal(value?.tools[0]?.contract.title, 'Two', JSON.stringify(diagnostics));
      return value?.installation.digest;
    });
  let unchanged: Promise<string | undefined> | undefined;
  const MATTERS: readonly [string, boolean][] = [
    ['toolpack.ts', true],
    ['data/table.txt', true],
    ['node_modules/two/extra.js', true],
    ['package.json', true],
    ['README.md', false],
    ['toolpack.test.ts', false],
    ['.git/config', false],
    ['node_modules/typescript/index.js', false],
  ];
  for (const [path, matters] of MATTERS) {
    it(`${matters ? 'changes' : 'stays'} when ${path} changes`, async () => {
      unchanged ??= digestOf({});
      const text = `${(files as Record<string, string>)[path] ?? ''}\n`;
      assert.equal((await digestOf({ [path]: text })) !== (await unchanged), matters);
    });
  }

  it('is not made of links', () =>
    withPacks(async ({ open, root }) => {
      mkdirSync(`${root}/pack1`, { recursive: true });
      symlinkSync('/etc/passwd', `${root}/pack1/data`);
      const { diagnostics } = await open({ 'toolpack.ts': moduleText() });
      assert.deepEqual(
        diagnostics.map(({ code, file }) => [code, file]),
        [['toolpack.link', 'data']],
      );
    }));
});

const signal = new AbortController().signal;

/** A toolpack that asks for an image and puts it into its plan, and counts how often it was asked itself. */
function site(answer: (image: unknown) => Agreement<unknown> = (image) => ({ ok: true, value: { image } })) {
  let asked = 0;
  const calls = rememberCalls(async (_tool, _args, { reply }) => {
    asked++;
    return answer(await reply('images.pin', ['busybox']).catch(() => 'none'));
  });
  return {
    ask: async (args: Json, reply: Asking['reply'] = async () => 'first', tool = 'tool') => {
      const before = asked;
      const agreed = await calls(tool, args, { signal, reply });
      return { value: agreed.ok ? agreed.value : undefined, isNew: asked > before };
    },
  };
}

describe('rememberCalls', () => {
  it('asks the toolpack once for equal calls, whatever the order of their keys', async () => {
    const { ask } = site();
    assert.deepEqual(await ask({ a: 1, b: 2 }), { value: { image: 'first' }, isNew: true });
    assert.deepEqual(await ask({ b: 2, a: 1 }), { value: { image: 'first' }, isNew: false });
    assert.equal((await ask({ a: 1, b: 3 })).isNew, true);
    assert.equal((await ask({ a: 1, b: 2 }, undefined, 'other')).isNew, true);
  });

  it('asks again when what the toolpack had asked for is answered otherwise, or not at all', async () => {
    const { ask } = site();
    await ask({});
    assert.deepEqual(await ask({}, async () => 'second'), { value: { image: 'second' }, isNew: true });
    assert.equal((await ask({}, async () => 'second')).isNew, false);
    const gone = () => Promise.reject(new Error('gone'));
    assert.deepEqual(await ask({}, gone), { value: { image: 'none' }, isNew: true });
    assert.equal((await ask({}, gone)).isNew, true, 'what came of a failure is not remembered');
    assert.equal((await ask({}, async () => 'second')).isNew, false);
  });

  it('remembers nothing that the processes did not agree on', async () => {
    const { ask } = site(() => ({ ok: false, difference: { path: '', first: 1, second: 2 } }));
    await ask({});
    assert.equal((await ask({})).isNew, true);
  });

  it('gives everybody an answer of their own', async () => {
    const { ask } = site();
    await ask({});
    const first = (await ask({})).value as { image: string };
    first.image = 'changed';
    assert.deepEqual((await ask({})).value, { image: 'first' });
  });

  it('forgets the oldest of very many, and never keeps a very long one', async () => {
    const { ask } = site();
    for (let n = 0; n <= 1_000; n++) await ask({ n });
    assert.equal((await ask({ n: 0 })).isNew, true);
    assert.equal((await ask({ n: 1_000 })).isNew, false);
    const long = { text: 'x'.repeat(70_000) };
    await ask(long);
    assert.equal((await ask(long)).isNew, true);
  });
});
