// Owns: schemas that lie beside a pack, below the root that its references must not leave.
// Refuses: scripts there: what runs lies in the pack.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addFiles, makePack, manifest } from './pack-for-tests.ts';
import { ToolpackLoader } from './toolpack-loader.ts';
import type { ToolpackValidationError } from './toolpack-validation-error.ts';

const SECRET = 'a secret of somebody else';
const withSchema = (ref: string) => manifest({ inputSchema: `{ $ref: '${ref}' }` });

/** The layout of the loader's specification: packs and schemas beside each other. */
function makeRoot(files: { readonly [path: string]: string }) {
  const all = makePack({
    'outside/secret.json': JSON.stringify({ title: SECRET }),
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`root/${path}`, text])),
  });
  return { root: join(all, 'root'), pack: join(all, 'root/apps/packs'), outside: join(all, 'outside') };
}

async function load(pack: string, root: string, cacheFolder?: string) {
  const loader = new ToolpackLoader({
    ...(cacheFolder ? { cacheFolder } : {}),
    now: () => Date.now() + 60_000,
  });
  const report = await loader.loadDir(pack, { root, label: 'apps/packs' }).catch((thrown) => thrown);
  const { diagnostics } = report as ToolpackValidationError;
  assert.ok(!JSON.stringify(diagnostics).includes(SECRET));
  return { loader, report, codes: diagnostics.map(({ file, code }) => `${file} ${code}`) };
}

describe('schemas beside a pack', () => {
  const FILES = {
    'apps/packs/core/a.tool.yaml': withSchema('../../../schemas/x.json'),
    'schemas/x.json': '{"$ref": "more/y.yaml#/$defs/z"}',
    'schemas/more/y.yaml':
      '$defs: { z: { type: object, required: [n], properties: { n: { type: integer } } } }',
  };

  it('are read below the root, from one to the next', async () => {
    const { root, pack } = makeRoot(FILES);
    const { codes, loader, report } = await load(pack, root);
    assert.deepEqual(codes, []);
    const { inputSchema } = loader.get('demo.tool');
    assert.deepEqual((inputSchema as { required: string[] }).required, ['n']);
    assert.deepEqual(report.beside, [join(root, 'schemas/more/y.yaml'), join(root, 'schemas/x.json')]);
  });

  it('are not read without a root, nor from one that does not hold the pack', async () => {
    const { root, pack, outside } = makeRoot(FILES);
    const label = 'apps/packs/core/a.tool.yaml ref.outside';
    assert.deepEqual((await load(pack, pack)).codes, [label]);
    assert.deepEqual((await load(pack, join(root, 'apps'))).codes, [label]);
    assert.deepEqual((await load(pack, outside)).codes, [label]);
  });

  it('make the same tool as schemas in the pack, with a digest that covers them', async () => {
    const { root, pack } = makeRoot(FILES);
    const { digest } = (await load(pack, root)).loader.get('demo.tool');
    const inside = makePack({
      'a.tool.yaml': withSchema('schemas/x.json'),
      'schemas/x.json': FILES['schemas/x.json'],
      'schemas/more/y.yaml': FILES['schemas/more/y.yaml'],
    });
    const alone = new ToolpackLoader();
    await alone.loadDir(inside);
    assert.equal(alone.get('demo.tool').digest, digest);
    addFiles(root, { 'schemas/more/y.yaml': '$defs: { z: { type: object } }' });
    assert.notEqual((await load(pack, root)).loader.get('demo.tool').digest, digest);
  });

  it('do not lead out of the root: by names, by links, by folders that are links', async () => {
    const refs = {
      up: '../../../outside/secret.json',
      encoded: '..%2F../%2e%2e/outside/secret.json',
      round: '../../schemas/../../outside/secret.json',
      link: '../../schemas/link.json',
      way: '../../schemas/way/secret.json',
      absolute: '/etc/passwd',
    };
    const { root, pack, outside } = makeRoot({
      'schemas/ok.json': '{}',
      ...Object.fromEntries(
        Object.entries(refs).map(([name, ref]) => [
          `apps/packs/${name}.tool.yaml`,
          manifest({ id: `demo.${name}`, inputSchema: `{ $ref: '${ref}' }` }),
        ]),
      ),
    });
    symlinkSync(join(outside, 'secret.json'), join(root, 'schemas/link.json'));
    symlinkSync(outside, join(root, 'schemas/way'));
    const wanted = Object.keys(refs).map((name) => `apps/packs/${name}.tool.yaml ref.outside`);
    assert.deepEqual((await load(pack, root)).codes, wanted.sort());
  });

  it('are neither hidden nor other kinds of files, and scripts do not lie there', async () => {
    const { root, pack } = makeRoot({
      'apps/packs/a.tool.yaml': withSchema('../../.env'),
      'apps/packs/b.tool.yaml': manifest({ id: 'demo.b', inputSchema: "{ $ref: '../../.git/x.json' }" }),
      'apps/packs/c.tool.yaml': manifest({ id: 'demo.c', inputSchema: "{ $ref: '../../notes.txt' }" }),
      'apps/packs/d.tool.yaml': manifest({ id: 'demo.d', execution: '{ kind: php, php: ../../run.php }' }),
      '.env': SECRET,
      '.git/x.json': JSON.stringify(SECRET),
      'notes.txt': SECRET,
      'run.php': '<?php',
    });
    assert.deepEqual((await load(pack, root)).codes, [
      'apps/packs/a.tool.yaml ref.outside',
      'apps/packs/b.tool.yaml ref.outside',
      'apps/packs/c.tool.yaml ref.outside',
      'apps/packs/d.tool.yaml path.outside',
    ]);
  });

  it('name themselves in diagnostics by where they lie, and say what is wrong once', async () => {
    const { root, pack } = makeRoot({ ...FILES, 'schemas/more/y.yaml': '$defs: { z: { type: objekt } }' });
    const { codes } = await load(pack, root);
    assert.ok(
      codes.includes('schemas/more/y.yaml schema.invalid') ||
        codes.some((one) => one.startsWith('schemas/more/y.yaml ')),
      codes.join(),
    );
  });

  it('are kept with their stamps, and not for a smaller root', async () => {
    const { root, pack } = makeRoot(FILES);
    mkdirSync(join(root, '.haft'));
    const cacheFolder = join(root, '.haft/cache/packs');
    const first = await load(pack, root, cacheFolder);
    const second = await load(pack, root, cacheFolder);
    assert.deepEqual([first.report.reused, second.report.reused], [0, 1]);
    assert.deepEqual(second.report.beside, first.report.beside);
    assert.equal((await load(pack, pack, cacheFolder)).codes.length, 1);
    writeFileSync(join(root, 'schemas/more/y.yaml'), '$defs: { z: { type: object } }');
    const third = await load(pack, root, cacheFolder);
    assert.equal(third.report.reused, 0);
    assert.notEqual(third.loader.get('demo.tool').digest, first.loader.get('demo.tool').digest);
  });
});

describe('what the loader gives', () => {
  it('cannot be changed, however deep', async () => {
    const loader = new ToolpackLoader();
    const report = await loader.loadDir(
      makePack({ 'a.tool.yaml': manifest({ metadata: '{ owner: { name: me } }', tags: '[a]' }) }),
    );
    const tool = loader.get('demo.tool');
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(frozen));
    assert.ok(frozen(tool));
    assert.ok(frozen(report));
    assert.deepEqual(tool.metadata, { owner: { name: 'me' } });
    assert.throws(() => Object.assign(tool.inputSchema as object, { type: 'string' }), TypeError);
    assert.equal(loader.list()[0], tool);
  });
});
