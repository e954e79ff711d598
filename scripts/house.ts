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

async function main(): Promise<void> {
  const { files, lines, importers } = readSources();
  const single = [...importers].filter(([path, by]) => by.size === 1 && !ENTRIES.test(path));
  console.log(`production files           ${files}`);
  console.log(`lines                      ${lines}`);
  console.log(
    `files with one importer    ${single.length} (${Math.round((single.length / files) * 1000) / 10} %)`,
  );
  if (process.argv.includes('--list')) {
    for (const [path, by] of single.toSorted()) console.log(`  ${path}  <  ${[...by]}`);
  }
  for (const [tool, walked] of Object.entries(await walks())) {
    console.log(`${`warm ${tool}`.padEnd(27)}${walked.length} files`);
    if (process.argv.includes('--list')) for (const path of walked) console.log(`  ${path}`);
  }
}

function readSources() {
  const paths = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !SIDE.test(path),
  );
  const importers = new Map(paths.map((path) => [path, new Set<string>()]));
  let lines = 0;
  for (const path of paths) {
    const text = readFileSync(join(SRC, path), 'utf8');
    lines += text.split('\n').length - 1;
    for (const [, named] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g)) {
      const imported = resolve(dirname(join(SRC, path)), named!).slice(SRC.length + 1);
      importers.get(imported)?.add(path);
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
