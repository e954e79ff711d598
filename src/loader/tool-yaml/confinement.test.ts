// Owns: that nothing outside of a pack's folder is read, whatever names and links say, and that odd files do no harm.
// Refuses: what is in the files that may be read.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makePack, manifest } from './pack-for-tests.ts';
import { ToolpackLoader } from './toolpack-loader.ts';
import type { ToolpackValidationError } from './toolpack-validation-error.ts';

const SECRET = 'a secret of somebody else';

/** A pack beside a folder that is not its own; `codes` are what loading it says. */
function makeBoth(files: { readonly [path: string]: string | Uint8Array }) {
  const both = makePack({
    'outside/secret.json': JSON.stringify({ title: SECRET }),
    'outside/secret.tool.yaml': manifest({ description: SECRET }),
    'outside/run.py': SECRET,
    ...Object.fromEntries(Object.entries(files).map(([path, content]) => [`pack/${path}`, content])),
  });
  return { pack: join(both, 'pack'), outside: join(both, 'outside') };
}

async function load(pack: string): Promise<{ codes: string[]; loader: ToolpackLoader }> {
  const loader = new ToolpackLoader();
  const said = await loader.loadDir(pack).then(
    ({ diagnostics }) => diagnostics,
    (thrown: ToolpackValidationError) => {
      assert.equal(thrown.name, 'ToolpackValidationError', String(thrown));
      assert.ok(!thrown.message.includes(SECRET));
      return thrown.diagnostics;
    },
  );
  assert.ok(!Buffer.from(loader.snapshot()).toString().includes(SECRET));
  return { loader, codes: said.map(({ file, code }) => `${file} ${code}`) };
}

const withSchema = (ref: string) => manifest({ inputSchema: `{ $ref: '${ref}' }` });
const withScript = (script: string) => manifest({ execution: `{ kind: python, script: '${script}' }` });

describe('a pack', () => {
  for (const ref of [
    '../outside/secret.json',
    './a/../../outside/secret.json',
    '%2e%2e/outside/secret.json',
    '..%2Foutside/secret.json',
    '/etc/passwd',
    'sub/../../outside/secret.json#/title',
  ]) {
    it(`does not follow the reference ${ref} out of its folder`, async () => {
      const { pack } = makeBoth({ 'a.tool.yaml': withSchema(ref) });
      assert.deepEqual((await load(pack)).codes, ['a.tool.yaml ref.outside']);
    });
  }

  for (const ref of ['file:///etc/passwd', 'http://127.0.0.1:1/x.json', '//example.org/x.json', 'data:,1']) {
    it(`does not fetch ${ref}`, async () => {
      const { pack } = makeBoth({ 'a.tool.yaml': withSchema(ref) });
      const [code] = (await load(pack)).codes;
      assert.match(code ?? '', /ref\.(remote|outside|invalid)$/);
    });
  }

  it('follows references up and down inside of its folder', async () => {
    const { pack } = makeBoth({
      'x/y/a.tool.yaml': withSchema('../../schemas/in%20put.json'),
      'schemas/in put.json': '{"$ref": "./deep/b.json"}',
      'schemas/deep/b.json': '{"type": "object"}',
    });
    const { codes, loader } = await load(pack);
    assert.deepEqual(codes, []);
    assert.deepEqual(loader.get('demo.tool').inputSchema, { type: 'object' });
  });

  it('does not follow links out of its folder: manifests, schemas, scripts, and folders on the way', async () => {
    const { pack, outside } = makeBoth({
      'schema.tool.yaml': withSchema('link.json'),
      'script.tool.yaml': withScript('link.py'),
      'way.tool.yaml': withSchema('way/secret.json'),
      'module.tool.yaml': manifest({ execution: "{ kind: python, module: 'way.run:main' }" }),
    });
    symlinkSync(join(outside, 'secret.json'), join(pack, 'link.json'));
    symlinkSync('../outside/run.py', join(pack, 'link.py'));
    symlinkSync('../outside', join(pack, 'way'));
    symlinkSync('../outside/secret.tool.yaml', join(pack, 'link.tool.yaml'));
    assert.deepEqual((await load(pack)).codes, [
      'link.tool.yaml path.outside',
      'schema.tool.yaml ref.outside',
      'script.tool.yaml path.outside',
      'way.tool.yaml ref.outside',
    ]);
  });

  it('follows links that stay inside, and may itself be reached by one', async () => {
    const { pack, outside } = makeBoth({
      'a.tool.yaml': withSchema('link.json'),
      'real/b.json': '{"type": "object"}',
      'real/hidden.yaml': manifest({ id: 'demo.linked' }),
    });
    symlinkSync('real/b.json', join(pack, 'link.json'));
    symlinkSync('real/hidden.yaml', join(pack, 'b.tool.yaml'));
    symlinkSync('../pack', join(outside, 'door'));
    const { codes, loader } = await load(join(outside, 'door'));
    assert.deepEqual(codes, []);
    assert.deepEqual(loader.ids(), ['demo.linked', 'demo.tool']);
  });

  it('ends although links go round in circles', async () => {
    const { pack } = makeBoth({ 'a.tool.yaml': withSchema('loop.json') });
    symlinkSync('loop.json', join(pack, 'loop.json'));
    symlinkSync('.', join(pack, 'self'));
    symlinkSync('round.tool.yaml', join(pack, 'round.tool.yaml'));
    assert.deepEqual((await load(pack)).codes, [
      'a.tool.yaml ref.unreadable',
      'round.tool.yaml file.unreadable',
    ]);
  });

  it('does not wait on pipes, and tells what is no file', async () => {
    const { pack } = makeBoth({
      'a.tool.yaml': withSchema('pipe.json'),
      'b.tool.yaml': withScript('pipe.json'),
    });
    execFileSync('mkfifo', [join(pack, 'pipe.json'), join(pack, 'pipe.tool.yaml')]);
    mkdirSync(join(pack, 'folder.tool.yaml'));
    assert.deepEqual((await load(pack)).codes, [
      'a.tool.yaml ref.unreadable',
      'b.tool.yaml script.unusable',
      'pipe.tool.yaml file.not_regular',
    ]);
  });

  it('refuses files of ten megabytes at once, and takes scripts of any size', async () => {
    const large = ' '.repeat(10 * 1024 * 1024);
    const { pack } = makeBoth({
      'big.tool.yaml': `${manifest()}#${large}`,
      'a.tool.yaml': withSchema('big.json'),
      'big.json': `{}${large}`,
      'b.tool.yaml': withScript('big.py'),
      'big.py': large,
    });
    assert.deepEqual((await load(pack)).codes, [
      'a.tool.yaml ref.unreadable',
      'big.tool.yaml file.too_large',
    ]);
  });

  it('tells bytes that are no text, at their place', async () => {
    const { pack } = makeBoth({
      'a.tool.yaml': Buffer.concat([Buffer.from(`${manifest()}name: `), Buffer.from([0xff])]),
      'b.tool.yaml': withSchema('b.json'),
      'b.json': Buffer.from([0xff]),
    });
    assert.deepEqual((await load(pack)).codes, [
      'a.tool.yaml file.encoding',
      'b.json file.encoding',
      'b.tool.yaml ref.broken',
    ]);
  });

  it('takes odd names of files as they are', async () => {
    const { pack } = makeBoth({
      "it's #1?.tool.yaml": withSchema('./it%27s%20%231%3F.json'),
      "it's #1?.json": '{"type": "object"}',
      'é/new\nline.tool.yaml': manifest({ id: 'demo.line' }),
    });
    linkSync(join(pack, "it's #1?.json"), join(pack, 'hard.json'));
    writeFileSync(join(pack, '.tool.yaml'), manifest({ id: 'demo.bare' }));
    const { codes, loader } = await load(pack);
    assert.deepEqual(codes, []);
    assert.deepEqual(loader.ids(), ['demo.bare', 'demo.line', 'demo.tool']);
  });
});
