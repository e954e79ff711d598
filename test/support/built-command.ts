// Owns: the command as it is installed, built once for all test files of one state of the sources.
// Refuses: a build of other sources, and half of one: a folder has its name only when it is finished.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const BUILDS = join(ROOT, 'dist-tests');
/** Everything that the built command is made of. */
const SOURCES = [
  'src/**/*',
  'scripts/build.ts',
  'scripts/precompile-checks.ts',
  'tsconfig*.json',
  'package.json',
  'package-lock.json',
];
export const BUILD_VARIABLE = 'HAFT_TEST_BUILD';
const STALE_MS = 24 * 3600 * 1000;

/**
 * The path of `haft.cjs`. Built by the first test file that asks; the others wait for it. Who runs many files names the build
 * for all of them (`BUILD_VARIABLE`), since telling the state of the sources takes a fifth of a second each time.
 */
export function builtCommand(): string {
  const named = process.env[BUILD_VARIABLE];
  // A copy of the sources, started by a test, has builds of its own.
  if (named?.startsWith(`${BUILDS}/`)) return named;
  const dist = join(BUILDS, digestOf(SOURCES));
  const lock = `${dist}.lock`;
  mkdirSync(BUILDS, { recursive: true });
  while (!existsSync(dist)) {
    if (!taken(lock)) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
      continue;
    }
    try {
      if (!existsSync(dist)) build(dist);
    } finally {
      rmSync(lock, { force: true });
    }
  }
  return join(dist, 'bin/haft.cjs');
}

/** The lock only saves work: were two to build, the first to finish is used. */
function build(dist: string): void {
  const own = `${dist}.${process.pid}`;
  removeStale();
  execFileSync(process.execPath, ['scripts/build.ts', own], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    renameSync(own, dist);
  } catch (thrown) {
    rmSync(own, { recursive: true });
    if (!existsSync(dist)) throw thrown;
  }
}

/** True if it is now ours. One whose process is gone is taken away, for the next attempt. */
function taken(lock: string): boolean {
  try {
    writeFileSync(lock, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw thrown;
  }
  try {
    const isOld = Date.now() - statSync(lock).mtimeMs > 300_000;
    if (isOld || !isAlive(Number(readFileSync(lock, 'utf8')))) rmSync(lock, { force: true });
  } catch (thrown) {
    if (codeOf(thrown) !== 'ENOENT') throw thrown; // given back in the meantime
  }
  return false;
}

function isAlive(pid: number): boolean {
  if (pid === 0) return true; // it has not written its number yet
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return codeOf(thrown) === 'EPERM';
  }
}

const codeOf = (thrown: unknown) => (thrown as NodeJS.ErrnoException).code;

function digestOf(patterns: readonly string[]): string {
  const hash = createHash('sha256').update(process.version);
  const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT, withFileTypes: true }));
  const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  for (const path of paths.sort()) {
    if (/(\.test|-for-tests)\.ts$/.test(path)) continue;
    const bytes = readFileSync(path);
    hash.update(`${path.slice(ROOT.length)} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest('hex').slice(0, 24);
}

function removeStale(): void {
  for (const name of readdirSync(BUILDS)) {
    const path = join(BUILDS, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && Date.now() - found.mtimeMs > STALE_MS) rmSync(path, { recursive: true, force: true });
  }
}
