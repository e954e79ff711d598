// Owns: how fast ten thousand manifests are loaded, beside a program that only parses them.
// Refuses: to load less than a host needs: every manifest is read, checked against every rule, and has its digest.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { load } from 'js-yaml';
import { repeat } from '../drive.ts';
import { makeFolder } from '../fixtures.ts';
import { defineSubject } from '../measure.ts';
import { makePack, PACK } from '../packs.ts';
import { ROOT } from '../product.ts';

type Sdk = typeof import('../../src/index.ts');

interface State {
  readonly Loader: Sdk['ToolpackLoader'];
  readonly pack: string;
  readonly paths: readonly string[];
  readonly cacheFolder: string;
}

/** Kept packs are used only once the files are so old that a change must show. */
const SETTLED_MS = 2_500;

const timed = async (work: () => unknown) => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const loadPack = async ({ Loader, pack, cacheFolder }: State) => {
  const loader = new Loader({ cacheFolder });
  const { reused } = await loader.loadDir(pack);
  assert.equal(loader.ids().length, PACK.tools);
  return { loader, reused };
};

const cold = (state: State) =>
  repeat(1, () => {
    rmSync(state.cacheFolder, { recursive: true, force: true });
    return timed(async () => assert.equal((await loadPack(state)).reused, 0));
  });

const warm = (state: State) =>
  repeat(1, () => timed(async () => assert.equal((await loadPack(state)).reused, PACK.tools)));

const warmValues = (state: State) =>
  repeat(1, () => timed(async () => assert.equal((await loadPack(state)).loader.list().length, PACK.tools)));

const parse = ({ paths }: State) =>
  repeat(1, () =>
    timed(() => {
      for (const path of paths) assert.ok(load(readFileSync(path, 'utf8')));
    }),
  );

export const loadPacks = defineSubject<State>({
  name: 'load-packs',
  about:
    '`ToolpackLoader.loadDir` of 10,000 manifests of about 60 lines (python, cli and http; every tenth refers to a schema ' +
    'file) in process and in one thread, against reading and parsing the same files with js-yaml. Cold: no cache, which is ' +
    'written on the way. Kept: nothing changed since.',
  async open() {
    const folder = makeFolder();
    mkdirSync(join(folder, '.haft'));
    const pack = join(folder, 'pack');
    const paths = makePack(pack);
    await wait(SETTLED_MS);
    const { ToolpackLoader } = (await import(join(ROOT, 'dist/index.js'))) as Sdk;
    const state = { Loader: ToolpackLoader, pack, paths, cacheFolder: join(folder, '.haft/cache/packs') };
    await loadPack(state);
    return state;
  },
  async close() {},
  comparisons: [
    {
      name: '10,000 manifests, cold',
      rounds: 9,
      contenders: { 'haft loads': cold, 'js-yaml parses': parse },
      goals: [{ figure: 'p50', ratio: '<=', value: 1.5, of: 'js-yaml parses' }],
    },
    {
      name: '10,000 manifests, kept',
      rounds: 9,
      contenders: { 'haft loads': warm, 'js-yaml parses': parse },
      goals: [{ figure: 'p50', ratio: '<=', value: 0.1, of: 'js-yaml parses' }],
    },
    {
      name: '10,000 manifests, kept, every tool as a value',
      rounds: 5,
      contenders: { 'haft loads and lists': warmValues, 'js-yaml parses': parse },
      goals: [],
      also: [{ figure: 'p50', of: 'js-yaml parses' }],
    },
  ],
});
