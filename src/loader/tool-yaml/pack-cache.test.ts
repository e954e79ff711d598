// Owns: that a kept pack is used only while nothing that it was made of has changed, and never stands in the way.
// Refuses: timing; the benchmarks measure that.
import assert from 'node:assert/strict';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addFiles, makePack, manifest } from './pack-for-tests.ts';
import { ToolpackLoader } from './toolpack-loader.ts';
import type { ToolpackValidationError } from './toolpack-validation-error.ts';

const FILES = {
  'a.tool.yaml': manifest({ id: 'demo.a', inputSchema: '{ $ref: in.json }' }),
  'b.tool.yaml': manifest({ id: 'demo.b', execution: "{ kind: python, module: 'lib.mod:run' }" }),
  'c.tool.yaml': manifest({ id: 'demo.c', execution: "{ kind: cli, cmd: [echo, '{{ input.x }}'] }" }),
  'd.tool.yaml': manifest({ id: 'demo.d', actions: '{ go: {} }' }),
  'in.json': '{"$ref": "more.json"}',
  'more.json': '{"type": "object"}',
  'lib/mod.py': 'def run(input): return {}',
};

function makeWorkspace(files: { readonly [path: string]: string } = FILES) {
  const root = makePack(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`pack/${path}`, text])),
  );
  mkdirSync(join(root, '.haft'));
  const pack = join(root, 'pack');
  const cacheFolder = join(root, '.haft', 'cache', 'packs');
  /** Much later, so that the stamps of files have settled. */
  const load = async (later = 60_000) => {
    const loader = new ToolpackLoader({ cacheFolder, now: () => Date.now() + later });
    const { reused, diagnostics } = await loader.loadDir(pack);
    return { loader, reused, codes: diagnostics.map(({ file, code }) => `${file} ${code}`) };
  };
  const kept = () => join(cacheFolder, readdirSync(cacheFolder)[0] as string);
  return { pack, load, kept, cacheFolder };
}

describe('the cache of packs', () => {
  it('gives the same tools, digests, bytes and warnings', async () => {
    const { load } = makeWorkspace();
    const first = await load();
    const second = await load();
    assert.deepEqual([first.reused, second.reused], [0, 4]);
    assert.deepEqual(second.codes, ['c.tool.yaml templating.missing']);
    assert.deepEqual(second.codes, first.codes);
    assert.deepEqual(second.loader.list(), first.loader.list());
    assert.deepEqual(second.loader.snapshot(), first.loader.snapshot());
  });

  const CHANGES: {
    readonly [what: string]: {
      readonly change: (pack: string) => void;
      readonly reused: number;
      readonly tools?: number;
    };
  } = {
    'a manifest that changed': {
      change: (pack) => addFiles(pack, { 'a.tool.yaml': manifest({ id: 'demo.aa' }) }),
      reused: 3,
    },
    'a schema that changed': {
      change: (pack) => addFiles(pack, { 'in.json': '{"type": "object"}' }),
      reused: 3,
    },
    'a schema that a schema refers to': {
      change: (pack) => addFiles(pack, { 'more.json': '{"type": ["object"]}' }),
      reused: 3,
    },
    'a script that changed': {
      change: (pack) => addFiles(pack, { 'lib/mod.py': 'def run(input): return 1' }),
      reused: 3,
    },
    'a module that would now be found first': {
      change: (pack) => addFiles(pack, { 'lib/mod/__init__.py': '' }),
      reused: 4,
    },
    'a manifest that went': { change: (pack) => rmSync(join(pack, 'd.tool.yaml')), reused: 3, tools: 3 },
    'a manifest that came': {
      change: (pack) => addFiles(pack, { 'sub/e.tool.yaml': manifest({ id: 'demo.e' }) }),
      reused: 4,
      tools: 5,
    },
    'a manifest that was moved': {
      change: (pack) => renameSync(join(pack, 'd.tool.yaml'), join(pack, 'e.tool.yaml')),
      reused: 3,
    },
    'a manifest of the same size and time': {
      change: (pack) => {
        const path = join(pack, 'a.tool.yaml');
        const { atime, mtime } = statSync(path);
        writeFileSync(path, readFileSync(path, 'utf8').replace('demo.a', 'demo.x'));
        utimesSync(path, atime, mtime);
      },
      reused: 3,
    },
    'a file that became a link': {
      change: (pack) => {
        renameSync(join(pack, 'more.json'), join(pack, 'real.json'));
        symlinkSync('real.json', join(pack, 'more.json'));
      },
      reused: 3,
    },
  };
  for (const [what, { change, reused, tools = 4 }] of Object.entries(CHANGES)) {
    it(`does not overlook ${what}, and keeps the rest`, async () => {
      const { pack, load } = makeWorkspace();
      await load();
      change(pack);
      const next = await load();
      assert.equal(next.reused, reused);
      const fresh = new ToolpackLoader();
      await fresh.loadDir(pack);
      assert.deepEqual(next.loader.list(), fresh.list());
      assert.equal(fresh.list().length, tools);
    });
  }

  it('does not keep what was written a moment ago, when clocks may not tell two writes apart', async () => {
    const { load, cacheFolder } = makeWorkspace();
    await load(0);
    assert.throws(() => readdirSync(cacheFolder), { code: 'ENOENT' });
    assert.equal((await load(0)).reused, 0);
  });

  it('keeps nothing that is wrong, and finds it wrong again', async () => {
    const { pack, load } = makeWorkspace();
    await load();
    addFiles(pack, { 'a.tool.yaml': 'id: 1', 'more.json': '{"type": 1}' });
    for (let round = 0; round < 2; round++) {
      await assert.rejects(load(), (thrown: ToolpackValidationError) => thrown.diagnostics.length >= 1);
    }
  });

  it('finds two tools of the same id although both were kept', async () => {
    const { pack, load } = makeWorkspace();
    await load();
    addFiles(pack, { 'z.tool.yaml': manifest({ id: 'demo.d.go' }) });
    await assert.rejects(load(), { name: 'ToolpackValidationError' });
    await assert.rejects(load(), { name: 'ToolpackValidationError' });
  });

  it('is not taken from a file that this machine did not write there', async () => {
    const { load, kept } = makeWorkspace();
    await load();
    const path = kept();
    const bytes = readFileSync(path);
    rmSync(path);
    writeFileSync(path, bytes);
    assert.equal((await load()).reused, 0);
  });

  it('survives damage of every kind', async () => {
    const { load, kept } = makeWorkspace();
    await load();
    const whole = readFileSync(kept());
    for (const length of [0, 10, 60, 300, whole.length - 1]) {
      truncateSync(kept(), length);
      assert.equal((await load()).loader.list().length, 4);
      assert.equal((await load()).reused, 4);
    }
  });

  it('is left out where there is no state folder, and is readable to its owner alone', async () => {
    const { load, kept, cacheFolder } = makeWorkspace();
    await load();
    assert.equal(statSync(kept()).mode & 0o777, 0o600);
    rmSync(join(cacheFolder, '..', '..'), { recursive: true });
    assert.equal((await load()).reused, 0);
    assert.throws(() => statSync(cacheFolder), { code: 'ENOENT' });
  });

  it('keeps names with line breaks out, and reads them all the same', async () => {
    const { load } = makeWorkspace({
      'a.tool.yaml': manifest(),
      'b\nc.tool.yaml': manifest({ id: 'demo.b' }),
    });
    await load();
    const { reused, loader } = await load();
    assert.equal(reused, 1);
    assert.deepEqual(loader.ids(), ['demo.b', 'demo.tool']);
  });
});
