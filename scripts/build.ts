// Owns: dist/: the library with its types, and the command as small bundles that load only what a command needs.
// Refuses: to be needed for development; scripts and most tests run from the sources.
// usage: build.ts [FOLDER]
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { precompileChecks } from './precompile-checks.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const finished = resolve(process.argv[2] ?? join(root, 'dist'));
/** Built beside it, on the same disk, and put in place at the end, so that nobody ever sees half of it. */
const dist = `${finished}-${process.pid}`;

async function main(): Promise<void> {
  run('tsc', ['-p', 'tsconfig.build.json', '--outDir', dist]);
  await bundleChecks();
  await bundleCommand();
  rmSync(finished, { recursive: true, force: true });
  renameSync(dist, finished);
}

function run(command: string, args: string[]): void {
  const { status } = spawnSync(join(root, 'node_modules/.bin', command), args, {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

/** One file of compiled checks for each builtin, in place of the empty module. */
async function bundleChecks(): Promise<void> {
  const checks = precompileChecks();
  await Promise.all(
    [...checks].map(([id, contents]) =>
      build({
        stdin: { contents, resolveDir: root, loader: 'js' },
        bundle: true,
        minify: true,
        platform: 'node',
        format: 'esm',
        outfile: checkFile(id),
        logLevel: 'warning',
      }),
    ),
  );
  const lazy = [...checks.keys()].map((id) => `${id}: () => import('../checks/${id}.js')`);
  writeFileSync(checksTable, `export const PRECOMPILED_CHECKS = { ${lazy.join(', ')} };\n`);
}

const checksTable = join(dist, 'preset/precompiled-checks.js');
const checkFile = (id: string) => join(dist, 'checks', `${id}.js`);

/**
 * One CommonJS file for what every command needs, and one for each `import()` in the sources: loading a
 * module graph as ESM costs more than the hot path itself.
 */
async function bundleCommand(): Promise<void> {
  const entries = new Map([
    [join(root, 'src/bin/main.ts'), 'bin-main'],
    [join(root, 'src/bin/mcp-front.ts'), 'bin-mcp-front'],
  ]);
  const done = new Set<string>();
  const outdir = join(dist, 'bin');
  rmSync(outdir, { recursive: true, force: true });
  for (let [next] = pending(entries, done); next; [next] = pending(entries, done)) {
    done.add(next[0]);
    await build({
      ...COMMAND,
      ...AS_FUNCTION,
      entryPoints: [{ in: next[0], out: next[1] }],
      outdir,
      supported: { 'dynamic-import': false },
      plugins: [lazyImports(entries), lazyBuiltins(), compiledChecks()],
    });
  }
  await build({
    ...COMMAND,
    // Says that a Node is too old in words that it can read.
    target: 'node10',
    entryPoints: [{ in: join(root, 'src/bin/haft.ts'), out: 'haft' }],
    outdir,
    define: { BUILD_ID: JSON.stringify(hashOf(outdir)) },
    plugins: [warmChunks()],
  });
  // The package is ESM; the command's folder is not.
  writeFileSync(join(outdir, 'package.json'), '{"type":"commonjs"}\n');
  chmodSync(join(outdir, 'haft.cjs'), 0o755);
}

const COMMAND: BuildOptions = {
  outExtension: { '.js': '.cjs' },
  bundle: true,
  // Its CommonJS file hides what it requires from bundlers.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  platform: 'node',
  target: 'node22',
  format: 'cjs',
  minify: true,
  keepNames: false,
  legalComments: 'none',
  // Read as Latin-1, which is quicker.
  charset: 'ascii',
  logLevel: 'warning',
};

/** What `src/bin/warm-chunks.ts` compiles: putting it around the text there would copy all of it at every start. */
const AS_FUNCTION: BuildOptions = {
  banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
  footer: { js: '})' },
};

/** Of everything in a folder: what code compiled from it is kept under. */
function hashOf(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).sort())
    hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
  return hash.digest('hex').slice(0, 16);
}

/** The built command loads its files itself. */
function warmChunks(): Plugin {
  return {
    name: 'warm-chunks',
    setup(plugin) {
      plugin.onResolve({ filter: /\/chunks\.ts$/ }, () => ({ path: join(root, 'src/bin/warm-chunks.ts') }));
    },
  };
}

const pending = (entries: Map<string, string>, done: Set<string>) =>
  [...entries].filter(([file]) => !done.has(file));

/** Gives every `import()` its own bundle beside the first one. */
function lazyImports(entries: Map<string, string>): Plugin {
  return {
    name: 'lazy-imports',
    setup(plugin) {
      plugin.onResolve({ filter: /.*/ }, async (args) => {
        if (args.kind !== 'dynamic-import' || args.path.startsWith('node:') || args.pluginData === 'resolved')
          return undefined;
        const found = await plugin.resolve(args.path, {
          kind: args.kind,
          resolveDir: args.resolveDir,
          importer: args.importer,
          pluginData: 'resolved',
        });
        if (found.errors.length > 0 || found.external) return found;
        const name = entries.get(found.path) ?? chunkName(found.path);
        entries.set(found.path, name);
        return { path: `./${name}.cjs`, external: true };
      });
    },
  };
}

/**
 * Builtins that cost milliseconds to load (`fs/promises` brings the streams in) and that a read never needs: their
 * functions load them with the first call.
 */
const LAZY_BUILTINS: Readonly<Record<string, string>> = {
  'node:fs/promises': "process.getBuiltinModule('node:fs').promises",
  'node:timers/promises': "process.getBuiltinModule('node:timers/promises')",
};

function lazyBuiltins(): Plugin {
  return {
    name: 'lazy-builtins',
    setup(plugin) {
      plugin.onResolve({ filter: /^node:(fs|timers)\/promises$/ }, ({ path }) => ({
        path,
        namespace: 'lazy-builtin',
      }));
      plugin.onLoad({ filter: /.*/, namespace: 'lazy-builtin' }, ({ path }) => {
        const lines = Object.entries(process.getBuiltinModule(path) as object).map(([name, value]) =>
          typeof value === 'function'
            ? `export const ${name} = (...args) => ${LAZY_BUILTINS[path]}.${name}(...args);`
            : `export { ${name} } from '${path.replace('/promises', '')}';`,
        );
        return { contents: lines.join('\n'), loader: 'js' };
      });
    },
  };
}

const chunkName = (file: string) =>
  relative(file.startsWith(`${dist}/`) ? dist : root, file)
    .replace(/^src\//, '')
    .replace(/^node_modules\//, 'dep-')
    .replace(/\.[cm]?[jt]s$/, '')
    .replaceAll(/[^a-zA-Z0-9]+/g, '-');

/** The command's bundles take the table that the library got. */
function compiledChecks(): Plugin {
  return {
    name: 'compiled-checks',
    setup(plugin) {
      plugin.onResolve({ filter: /precompiled-checks\.ts$/ }, () => ({
        path: checksTable,
      }));
    },
  };
}

await main();
