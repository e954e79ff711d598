// Owns: the import table of docs/architecture.md as data, and the check that the tree obeys it.
// Refuses: exceptions. A file that matches no row fails, and so does a cycle.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';

const src = resolve(import.meta.dirname, '../src');

const CORE = ['contract', 'base'];
const LEAVES = ['capabilities', 'tools', 'rules', 'adapters', 'backends', 'stores'];
const LIBRARY = [...CORE, 'policy', 'runtime', 'loader', 'testing', 'backends/index.ts', ...LEAVES];
const HOST = ['operations', 'preset', 'runtime', 'loader', 'policy', ...CORE];

/** Which folders a file may import, by the folder that it is in. Its own folder is always allowed. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  contract: ['base'],
  policy: ['backends/index.ts', ...CORE],
  runtime: ['policy', ...CORE],
  loader: ['policy', ...CORE],
  testing: CORE,
  ...Object.fromEntries(LEAVES.map((leaf) => [leaf, CORE])),
  // What each backend says of itself is data that files and policies are read by; no engine is loaded with it.
  'backends/index.ts': ['backends', ...CORE],
  preset: LIBRARY,
  operations: CORE,
  'hosts/cli': HOST,
  'hosts/daemon': HOST,
  'hosts/mcp': HOST,
  bin: ['hosts/cli', 'hosts/daemon', 'hosts/mcp', ...HOST],
  // The package's entries expose what they name.
  'index.ts': [...HOST, ...LIBRARY],
  'testing.ts': ['preset', ...LIBRARY],
  'toolpack.ts': ['contract'],
};

/** Modules that reach the machine, and the folders that may use them. */
const MACHINE =
  /^node:(fs|fs\/promises|child_process|net|http|https|http2|tls|dgram|dns|cluster|worker_threads)$/;
const REACHES_MACHINE = [
  'capabilities',
  'adapters',
  'backends',
  'stores',
  'loader',
  'testing',
  'bin',
  'hosts/cli',
  'hosts/daemon',
  'hosts/mcp',
];

const MCP = /^@modelcontextprotocol\//;
const SPEAKS_MCP = ['adapters', 'hosts/mcp'];

interface SourceFile {
  readonly path: string;
  readonly row: string | undefined;
  readonly imports: readonly string[];
}

const files = sourceFiles();

describe('the source tree', () => {
  it('has a row in the import table for every file', () => {
    assert.deepEqual(
      files.filter((file) => file.row === undefined).map((file) => file.path),
      [],
    );
  });

  it('imports only what its row allows', () => {
    const wrong = files.flatMap((file) =>
      file.imports
        .filter((target) => target.startsWith('.'))
        .map((target) => relative(src, resolve(src, dirname(file.path), target)))
        .filter((target) => !allowed(file, target))
        .map((target) => `${file.path} imports ${target}`),
    );
    assert.deepEqual(wrong, []);
  });

  it('reaches the machine only from the folders that may', () => {
    assert.deepEqual(users(MACHINE, REACHES_MACHINE), []);
  });

  it("speaks MCP's types only where MCP is spoken", () => {
    assert.deepEqual(users(MCP, SPEAKS_MCP), []);
  });

  // The built command has a copy of a file in each bundle that needs it, each with classes and symbols of its own.
  it('tells things apart by what every copy of a file agrees on: no class of its own, no symbol that is not shared', () => {
    const found = files.flatMap(({ path }) => {
      const code = withoutComments(readFileSync(join(src, path), 'utf8'));
      const classes = [...code.matchAll(/\binstanceof\s+([\w.]+)/g)].map((match) => match[1]!);
      const own = classes
        .filter((name) => !Object.hasOwn(globalThis, name))
        .map((name) => `instanceof ${name}`);
      return [...own, ...(/\bSymbol\(/.test(code) ? ['Symbol(…)'] : [])].map((what) => `${path}: ${what}`);
    });
    assert.deepEqual(found, []);
  });

  it('follows links as the system does: the plain realpathSync reads `..` behind a link by its words', () => {
    const plain = files.filter(
      ({ path }) =>
        !path.endsWith('.test.ts') &&
        /\brealpath(?:Sync)?\s*[()]/.test(readFileSync(join(src, path), 'utf8')),
    );
    assert.deepEqual(
      plain.map(({ path }) => path),
      [],
    );
  });

  it('serves MCP without the command line', () => {
    const seen = new Set(['bin/mcp-front.ts']);
    for (const path of seen)
      for (const target of files.find((file) => file.path === path)?.imports ?? [])
        if (target.startsWith('.')) seen.add(relative(src, resolve(src, dirname(path), target)));
    assert.deepEqual(
      [...seen].filter((path) => path.startsWith('hosts/cli/')),
      [],
    );
  });

  it('has no import cycle', () => {
    assert.deepEqual(findCycle(), undefined);
  });

  it('holds no file of more than 400 lines', () => {
    const long = files.filter(({ path }) => readFileSync(join(src, path), 'utf8').split('\n').length > 401);
    assert.deepEqual(
      long.map((file) => file.path),
      [],
    );
  });

  it('opens every file with what it owns and what it refuses', () => {
    const silent = files.filter(({ path }) => {
      const lines = readFileSync(join(src, path), 'utf8').replace(/^#!.*\n/, '');
      return !/^\/\/ .+\n\/\/ .+/.test(lines);
    });
    assert.deepEqual(
      silent.map((file) => file.path),
      [],
    );
  });
});

function allowed(file: SourceFile, target: string): boolean {
  if (target.startsWith('..')) return false;
  const row = rowOf(target);
  if (row === undefined || file.row === undefined) return false;
  if (row === file.row)
    return !FAMILIES.has(row) || sharedInFamily(target) || family(file.path) === family(target);
  return MAY_IMPORT[file.row]!.includes(row);
}

/** Within these a member is a folder of its own and never imports another; what they share lies beside them. */
const FAMILIES = new Set(['capabilities', 'adapters', 'backends', 'stores']);
const family = (path: string) => path.split('/').slice(0, 2).join('/');
const sharedInFamily = (path: string) => path.split('/').length === 2;

function users(what: RegExp, where: readonly string[]): string[] {
  return files
    .filter((file) => !where.includes(file.row ?? ''))
    .flatMap((file) =>
      file.imports.filter((target) => what.test(target)).map((target) => `${file.path} imports ${target}`),
    );
}

function rowOf(path: string): string | undefined {
  const parts = path.split('/');
  const candidates = [path, parts.slice(0, 2).join('/'), parts[0]!];
  return candidates.find((one) => Object.hasOwn(MAY_IMPORT, one));
}

function sourceFiles(): readonly SourceFile[] {
  return (
    readdirSync(src, { recursive: true, encoding: 'utf8' })
      // What only tests use is not built, and may import what they may.
      .filter((path) => path.endsWith('.ts') && !/(\.test|-for-tests)\.ts$/.test(path))
      .sort()
      .map((path) => ({ path, row: rowOf(path), imports: importsOf(readFileSync(join(src, path), 'utf8')) }))
  );
}

function importsOf(source: string): string[] {
  const found = withoutComments(source).matchAll(
    /(?:\bfrom\s*|\bimport\s*\(?\s*|\bgetBuiltinModule\(\s*)(['"])([^'"\n]+)\1/g,
  );
  return [...found].map((match) => match[2]!);
}

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
}

/** Lazy imports do not close a cycle at load, but they do tangle: they count. */
function findCycle(): readonly string[] | undefined {
  const graph = new Map(
    files.map((file) => [
      file.path,
      file.imports
        .filter((t) => t.startsWith('.'))
        .map((t) => relative(src, resolve(src, dirname(file.path), t))),
    ]),
  );
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): readonly string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const next of graph.get(path) ?? []) {
      const cycle = visit(next, [...trail, path]);
      if (cycle) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of graph.keys()) {
    const cycle = visit(path, []);
    if (cycle) return cycle;
  }
  return undefined;
}
