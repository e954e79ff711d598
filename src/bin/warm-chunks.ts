// Owns: loading the built command's files from code that was compiled before, down to each function that the command used.
// Refuses: code that another user could have written or that belongs to another build, and to fail where none can be kept.
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';

/** What the build makes of every other file of the command, in one hash. */
declare const BUILD_ID: string;

export const loadMain = async () => load('bin-main.cjs') as typeof import('./main.ts');
export const loadMcpFront = async () => load('bin-mcp-front.cjs') as typeof import('./mcp-front.ts');

interface Chunk {
  exports: unknown;
}

type Kept = { readonly name: string; readonly script: { createCachedData(): Buffer } };

/** By then a process that stays has used what a start needs, and V8 has not yet thrown any of it away. */
const KEEP_AFTER_MS = 2000;

/** Kept code of builds to which nothing was added for so long is removed; one that is still in use is kept again. */
const STALE_MS = 30 * 24 * 3600 * 1000;

const chunks = new Map<string, Chunk>();
const toKeep: Kept[] = [];
const caches = cacheFolder();
// Each command uses other functions of the same files.
const command = /^[a-z]+$/.exec(process.argv[2] || '');
const folder = caches === undefined ? undefined : `${caches}/${BUILD_ID}/${command ? command[0] : 'haft'}`;

/**
 * Node's own cache (`enableCompileCache`) holds what is compiled before a file runs. Most functions are compiled when
 * they are first called, so every start would compile them again: a third of its time (measured).
 */
function load(name: string): unknown {
  const known = chunks.get(name);
  if (known) return known.exports;
  const { Script, constants } = process.getBuiltinModule('node:vm');
  const file = `${__dirname}/${name}`;
  const cachedData = folder === undefined ? undefined : readOwn(`${folder}/${name}`);
  const script = new Script(readFileSync(file, 'latin1'), {
    filename: file,
    ...(cachedData ? { cachedData } : {}),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  if (folder !== undefined && (!cachedData || script.cachedDataRejected)) keepLater({ name, script });
  const chunk: Chunk = { exports: {} };
  chunks.set(name, chunk);
  script.runInThisContext()(chunk.exports, requireChunk, chunk, file, __dirname);
  return chunk.exports;
}

/** Every module in a file asks for its own; `require` would look each of them up anew. */
const builtins = new Map<string, unknown>();

function requireBuiltin(id: string): unknown {
  const known = builtins.get(id);
  if (known !== undefined) return known;
  const builtin = require(id);
  builtins.set(id, builtin);
  return builtin;
}

const requireChunk = Object.assign(
  (id: string): unknown => (id.startsWith('./') ? load(id.slice(2)) : requireBuiltin(id)),
  require,
);

/** Where compiled code is kept; undefined where there is no home. */
function cacheFolder(): string | undefined {
  const home = process.env.XDG_CACHE_HOME || (process.env.HOME && `${process.env.HOME}/.cache`);
  // A relative one would be whichever folder the command is started in.
  return home?.startsWith('/') ? `${home}/haft` : undefined;
}

/** The bytes of a file that only this user can have written. */
function readOwn(path: string): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(fd);
    const { uid, mode } = stat;
    const isOwn = stat.isFile() && (!process.geteuid || uid === process.geteuid()) && (mode & 0o022) === 0;
    return isOwn ? readFileSync(fd) : undefined;
  } catch (_) {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function keepLater(chunk: Kept): void {
  if (toKeep.push(chunk) > 1) return;
  process.once('exit', keep);
  setTimeout(keep, KEEP_AFTER_MS, 0).unref();
}

/** A command that failed stopped early: what it compiled is too little to keep. */
function keep(exit: number): void {
  if (exit !== 0 || caches === undefined || folder === undefined) return;
  try {
    if (mkdirSync(folder, { recursive: true, mode: 0o700 })) removeStale(caches);
    for (const { name, script } of toKeep.splice(0)) write(`${folder}/${name}`, script.createCachedData());
  } catch (_) {
    // The next start compiles again.
  }
}

/** Whole or not at all, also when the machine stops: V8 believes what it reads. */
function write(path: string, bytes: Buffer): void {
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, bytes, { mode: 0o600, flag: 'wx' });
    const fd = openSync(temporary, 'r');
    fsyncSync(fd);
    closeSync(fd);
    renameSync(temporary, path);
  } catch (thrown) {
    rmSync(temporary, { force: true });
    throw thrown;
  }
}

function removeStale(all: string): void {
  for (const name of readdirSync(all)) {
    const path = `${all}/${name}`;
    if (name !== BUILD_ID && Date.now() - statSync(path).mtimeMs > STALE_MS)
      rmSync(path, { recursive: true });
  }
}
