// Owns: which files a toolpack is made of, and its digest over exactly those: what is not in it is not shown to its code; and the calls that it brings to be checked with, `calls/*.json`.
// Refuses: links, special files, packages that it does not list as a dependency, and calls that name files outside of their folder.
import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest, sha256Hex } from '../../base/digest.ts';
import { isRecord } from '../../base/is-record.ts';
import { normalizeRelPath } from '../../base/rel-path.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { fail } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { below } from '../../contract/plan.ts';
import type { PackFile, PackFiles } from '../../contract/toolpack.ts';
import { findPackFolder } from '../find-pack-folder.ts';
import { isNotRegular, readRegular, readRegularText } from '../read-regular.ts';

/** The calls that a pack is checked with: neither digested nor shown to it. */
export const CALLS_FOLDER = 'calls';

const MAX_FILES = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** A folder is a toolpack when its package.json says which module is one. */
export function isToolpackFolder(folder: string): boolean {
  try {
    return typeof toolpackOf(JSON.parse(readRegularText(join(folder, 'package.json')))) === 'string';
  } catch (thrown) {
    // Whoever reads it as one says what is wrong with it.
    return isNotRegular(thrown);
  }
}

/** All that is wrong, or the files. */
export function readPackFiles(dir: string): PackFiles | readonly Diagnostic[] {
  const problems: Diagnostic[] = [];
  const tell = (file: string, code: string, message: string, hint?: string): void => {
    problems.push({ file, line: 1, column: 1, code, severity: 'error', message, ...(hint ? { hint } : {}) });
  };
  const folder = findPackFolder(dir);
  if (typeof folder !== 'string') return [folder];
  const manifest = readManifest(folder, tell);
  if (!manifest) return problems;
  const { entry, name, version } = manifest;
  const files: PackFile[] = [];
  let bytes = 0;
  const take = (path: string): void => {
    if (files.length === MAX_FILES || bytes > MAX_BYTES) return;
    const content = readRegular(join(folder, path));
    bytes += content.length;
    files.push({ path, size: content.length, sha256: sha256Hex(content), content });
    if (bytes > MAX_BYTES) tell(path, 'toolpack.size', `The pack is larger than ${MAX_BYTES} bytes`);
    if (files.length === MAX_FILES) tell(path, 'toolpack.size', `The pack has more than ${MAX_FILES} files`);
  };
  const walk = (below: string): void => {
    for (const entryName of readdirSync(join(folder, below)).sort()) {
      const path = below === '' ? entryName : `${below}/${entryName}`;
      if (isLeftOut(entryName) || path === CALLS_FOLDER) continue;
      const stat = lstatSync(join(folder, path));
      if (stat.isDirectory()) walk(path);
      else if (stat.isFile()) take(path);
      else
        tell(path, 'toolpack.link', `"${path}" is neither a file nor a folder`, 'put the file itself there');
    }
  };
  walk('');
  for (const path of dependencyFolders(folder, manifest.dependencies, tell)) walk(path);
  if (!files.some(({ path }) => path === entry))
    tell('package.json', 'toolpack.entry', `haft.toolpack names "${entry}", which is not there`);
  if (problems.length > 0) return problems;
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const body = { entry, files: files.map(({ path, sha256 }) => [path, sha256]) };
  return { folder, files, digest: digest('toolpack/v1', canonicalJson(body)), entry, name, version };
}

/** Neither digested nor shown to the pack: what tests and readers need of it, and packages that it does not ask for. */
const isLeftOut = (name: string): boolean =>
  name === 'node_modules' || name.startsWith('.') || /\.test\.[cm]?[jt]s$/.test(name) || /\.md$/i.test(name);

interface Manifest {
  readonly entry: string;
  readonly name: string;
  readonly version: string;
  readonly dependencies: readonly string[];
}

type Tell = (file: string, code: string, message: string, hint?: string) => void;

function readManifest(folder: string, tell: Tell): Manifest | undefined {
  let json: unknown;
  try {
    json = JSON.parse(readRegularText(join(folder, 'package.json')));
  } catch (thrown) {
    const absent = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
    const odd = isNotRegular(thrown) ? 'It is not a regular file' : 'It is not JSON';
    const fact = absent ? 'It is not there' : odd;
    tell('package.json', 'toolpack.package', fact, HINT);
    return undefined;
  }
  const given = toolpackOf(json);
  const normal = typeof given === 'string' ? normalizeRelPath(given) : undefined;
  if (!normal?.ok || normal.path === '.') {
    tell('package.json', 'toolpack.package', 'It does not say which module is the toolpack', HINT);
    return undefined;
  }
  const { name, version, dependencies } = json as Record<string, unknown>;
  return {
    entry: normal.path,
    name: typeof name === 'string' ? name : 'toolpack',
    version: typeof version === 'string' && SEMVER.test(version) ? version : '0.0.0',
    dependencies: namesIn(dependencies),
  };
}

const HINT = 'a package.json with { "type": "module", "haft": { "toolpack": "toolpack.ts" } }';
const SEMVER = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

function toolpackOf(json: unknown): unknown {
  const { haft } = (json ?? {}) as { readonly haft?: { readonly toolpack?: unknown } };
  return haft?.toolpack;
}

const namesIn = (given: unknown): readonly string[] =>
  typeof given === 'object' && given !== null ? Object.keys(given) : [];

/** `haft` itself is there in every pack's process, whatever the pack says. */
const OWN = 'haft';

/** The packages that it depends on, and those that they do, as they lie below the pack's own folder. */
function dependencyFolders(folder: string, names: readonly string[], tell: Tell): readonly string[] {
  const found = new Set<string>();
  const visit = (wanted: readonly string[], from: string): void => {
    for (const name of wanted) {
      if (name === OWN) continue;
      const at = lookUp(folder, from, name);
      if (at === undefined) {
        tell(
          'package.json',
          'toolpack.dependency',
          `"${name}" is a dependency and is not installed`,
          'run npm install in the pack',
        );
        continue;
      }
      if (found.has(at)) continue;
      found.add(at);
      try {
        const json = JSON.parse(readRegularText(join(folder, at, 'package.json'))) as {
          dependencies?: unknown;
        };
        visit(namesIn(json.dependencies), at);
      } catch {
        tell(`${at}/package.json`, 'toolpack.dependency', 'It cannot be read');
      }
    }
  };
  visit(names, '');
  return [...found].sort();
}

/** As Node.js looks: in the node_modules of every folder upwards, but never above the pack. */
function lookUp(folder: string, from: string, name: string): string | undefined {
  for (let at = from; ; at = at.includes('/') ? at.slice(0, at.lastIndexOf('/')) : '') {
    const candidate = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (lstatSync(join(folder, candidate), { throwIfNoEntry: false })?.isDirectory()) return candidate;
    if (at === '') return undefined;
  }
}

export interface CallFixture {
  /** The name of its file. */
  readonly name: string;
  readonly tool: string;
  /** `file:NAME` stands for the artifact that the file, or the folder, of that name becomes. */
  readonly args: JsonObject;
  readonly files: readonly { readonly name: string; readonly content: CallContent }[];
  /** What the tool has to answer, where that is said. */
  readonly result?: Json;
}

/** The bytes of a file, or all that is in a folder. */
export type CallContent = Uint8Array | readonly FolderPart[];

export interface FolderPart {
  readonly path: string;
  /** Undefined for a folder. */
  readonly bytes: Uint8Array | undefined;
}

export function readCalls(pack: string): readonly CallFixture[] {
  const folder = join(pack, CALLS_FOLDER);
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
  return names.sort().map((name) => readCall(folder, name));
}

function readCall(folder: string, name: string): CallFixture {
  const wrong = (fact: string) => fail('pack.invalid', `Cannot take ${CALLS_FOLDER}/${name}: ${fact}`);
  let given: unknown;
  try {
    given = JSON.parse(readRegularText(join(folder, name)));
  } catch (thrown) {
    throw wrong(isNotRegular(thrown) ? 'it is not a regular file' : 'it is not JSON');
  }
  if (!isRecord(given) || typeof given.tool !== 'string' || !isRecord(given.args))
    throw wrong('it is { "tool", "args", "result" }');
  const { tool, result } = given;
  const args = given.args as JsonObject;
  const files = [...filesIn(args)].map((file) => {
    const place = below('', file);
    if (!place.ok) throw wrong(`"file:${file}": ${place.fact}`);
    try {
      return { name: file, content: readContent(join(folder, place.path)) };
    } catch (thrown) {
      const fact = isNotRegular(thrown)
        ? 'holds, or is, what is neither a file nor a folder'
        : 'is not there';
      throw wrong(`"file:${file}" ${fact}`);
    }
  });
  return { name, tool, args, files, ...(result === undefined ? {} : { result: result as Json }) };
}

function readContent(path: string): CallContent {
  if (!statSync(path).isDirectory()) return readRegular(path);
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();
  return names.map((name) => {
    const place = join(path, name);
    return { path: name, bytes: statSync(place).isDirectory() ? undefined : readRegular(place) };
  });
}

function filesIn(value: Json, found = new Set<string>()): ReadonlySet<string> {
  if (typeof value === 'string' && value.startsWith('file:')) found.add(value.slice(5));
  else if (typeof value === 'object' && value !== null)
    for (const one of Object.values(value)) filesIn(one as Json, found);
  return found;
}

interface BenchFolder {
  readonly path: string;
  remove(): void;
}

export function makeBenchFolder(): BenchFolder {
  const path = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-bench-')));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
