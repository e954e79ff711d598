// Owns: `npm run house`: how large the sources are, how much of them serves one other file, and how many files a warm call walks through.
// Refuses: to judge; it prints figures to compare with those of another commit.
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../src/contract/json.ts';
import type { DefaultRuntime } from '../src/preset/default.ts';

const SRC = join(import.meta.dirname, '../src');
const SIDE = /(?:\.test|-for-tests|\.d)\.ts$/;
/** Package entries, and files that are started by name: nobody imports them. */
const ENTRIES = /^(?:index|testing|toolpack)\.ts$|^bin\/|\/host\.ts$/;

/** The list of each family: what is imported by it alone is a member, which CONTRIBUTING wants in a file of its own. */
const LISTS: ReadonlySet<string> = new Set([
  'backends/index.ts',
  'bin/commands.ts',
  'hosts/cli/commands.ts',
  'operations/index.ts',
  'policy/sections/index.ts',
  'preset/capabilities.ts',
  'preset/packs/sources/index.ts',
  'rules/index.ts',
  'testing.ts',
  'testing/store-suite.ts',
  'tools/index.ts',
]);

/** How one file imports another; a type alone loads nothing. */
type Way = 'type' | 'static' | 'lazy';

async function main(): Promise<void> {
  const { files, lines, importers } = readSources();
  const single = [...importers].flatMap(([path, by]) => {
    const [[importer, ways] = ['', new Set<Way>()], another] = by;
    if (importer === '' || another || ENTRIES.test(path)) return [];
    const why = LISTS.has(importer)
      ? 'of a list'
      : ways.has('lazy') && !ways.has('static')
        ? 'lazy'
        : 'other';
    return [{ path, importer, why }];
  });
  console.log(`production files           ${files}`);
  console.log(`lines                      ${lines}`);
  console.log(
    `files with one importer    ${single.length} (${Math.round((single.length / files) * 1000) / 10} %)`,
  );
  for (const [why, said] of [
    ['of a list', 'members of a list'],
    ['lazy', 'loaded when needed'],
    ['other', 'others'],
  ]) {
    const found = single.filter((one) => one.why === why);
    console.log(`  ${said!.padEnd(25)}${found.length}`);
    if (!process.argv.includes('--list')) continue;
    for (const { path, importer } of found) console.log(`    ${path}  <  ${importer}`);
  }
  for (const [tool, walked] of Object.entries(await walks())) {
    console.log(`${`warm ${tool}`.padEnd(27)}${walked.length} files`);
    if (process.argv.includes('--list')) for (const path of walked) console.log(`  ${path}`);
  }
}

const IMPORT =
  /^(?:import|export)(?<type> type)?\b[^;']*?from '(?<from>\.[^']+\.ts)'|import\(\s*'(?<lazy>\.[^']+\.ts)'/gm;

function readSources() {
  const paths = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !SIDE.test(path),
  );
  const importers = new Map(paths.toSorted().map((path) => [path, new Map<string, Set<Way>>()]));
  let lines = 0;
  for (const path of paths) {
    const text = readFileSync(join(SRC, path), 'utf8');
    lines += text.split('\n').length - 1;
    for (const { groups } of text.matchAll(IMPORT)) {
      const { type, from, lazy } = groups!;
      const imported = resolve(dirname(join(SRC, path)), from ?? lazy!).slice(SRC.length + 1);
      const by = importers.get(imported);
      by?.set(path, (by.get(path) ?? new Set()).add(lazy ? 'lazy' : type ? 'type' : 'static'));
    }
  }
  return { files: paths.length, lines, importers };
}

const CALLS: Readonly<Record<string, JsonObject>> = {
  file_read: { path: 'a.txt' },
  shell_exec: { cmd: 'true' },
};

/** The sources in which something was executed during one call, after others like it. */
async function walks(): Promise<Record<string, readonly string[]>> {
  await import('../src/preset/trust/trust-for-tests.ts');
  const { createDefaultRuntime } = await import('../src/preset/default.ts');
  const workspace = await mkdtemp(join(tmpdir(), 'haft-house-'));
  try {
    await writeFile(join(workspace, 'a.txt'), 'a\n');
    await writeFile(join(workspace, 'haft.yaml'), "version: 1\nshell_allow: ['^true$']\n");
    const trust = (await import('node:crypto'))
      .createHash('sha256')
      .update(readFileSync(join(workspace, 'haft.yaml')))
      .digest('hex');
    const runtime = await createDefaultRuntime({ workspace, trust });
    try {
      const found: Record<string, readonly string[]> = {};
      for (const [tool, args] of Object.entries(CALLS)) found[tool] = await walk(runtime, tool, args);
      return found;
    } finally {
      await runtime.close();
    }
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

async function walk(runtime: DefaultRuntime, tool: string, args: JsonObject): Promise<readonly string[]> {
  const call = async () => {
    const { ok, errors } = await runtime.call({ tool, args });
    if (!ok) throw new Error(`${tool} failed: ${JSON.stringify(errors)}`);
  };
  for (let i = 0; i < 5; i++) await call();
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await call();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(`${SRC}/`))
      .filter(({ functions }) => functions.some(({ ranges }) => ranges[0]!.count > 0))
      .map(({ url }) => fileURLToPath(url).slice(SRC.length + 1))
      .toSorted();
  } finally {
    session.disconnect();
  }
}

await main();
