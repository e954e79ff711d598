// Owns: telling from a server's own words what its sandbox refused it, by path, and the line that would grant it.
// Refuses: to guess: a path is named in its complaint, and what would be shown to it is there.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, posix, relative } from 'node:path';
import { readCommandCode } from '../../base/command-code.ts';
import { isRecord } from '../../base/is-record.ts';
import { foldersUp } from '../../base/rel-path.ts';
import type { JsonObject } from '../../contract/json.ts';
import { readRegularText } from '../read-regular.ts';

export interface RefusalSite {
  /** The workspace. */
  readonly root: string;
  /** Under which key of the pack the line belongs: `mcp` or `stdio`. */
  readonly kind: string;
  readonly config: JsonObject;
}

/** The last of what was said is looked at. */
const LOOKED_AT = 64 * 1024;

/** A sentence with the path and the line; undefined where its words are about nothing that was refused. */
export function explainRefusal(text: string, site: RefusalSite): string | undefined {
  for (const line of text.slice(-LOOKED_AT).split('\n').toReversed()) {
    const said = aboutWrite(line, site) ?? aboutImport(line, site) ?? aboutRead(line, site);
    if (said !== undefined) return said;
  }
  return undefined;
}

const REFUSED_WRITE = /EROFS|read-only file system|\bEACCES\b|permission denied/i;
const NOT_THERE = /ENOENT|no such file or directory|FileNotFoundError/i;

/** What Node.js names in an error and never makes anything. */
const ONLY_LOOKS =
  /\b(?:scandir|opendir|readdir|l?stat|statx|access|readlink|realpath|chdir|uv_cwd|read|unlink|rmdir|rm|watch)\b(?= ['"`]|$)/;
/** What makes something; without such a word nobody can tell. */
const MAKES =
  /\b(?:open|mkdir|mkdtemp|copyfile|cp|rename|link|symlink)\b(?= ['"`])|\bcannot (?:create|touch|make)\b/;

function aboutWrite(line: string, site: RefusalSite): string | undefined {
  if (!REFUSED_WRITE.test(line) || ONLY_LOOKS.test(line)) return undefined;
  const path = pathIn(line, site);
  if (path === undefined) return undefined;
  const place = placeOf(path, site);
  if (place === undefined)
    return `it was refused to write ${path}, which lies outside of the workspace: name it a place in the workspace (env.set), and grant that`;
  if (ownFolders(site).some((folder) => place.startsWith(`${folder}/`))) return amongCode(place, site);
  // It may write there: what refused it is not the sandbox.
  if (isGranted(place, site, ['write'])) return undefined;
  // What is not there becomes a folder; only a file that is there can be granted by itself.
  const isWhole =
    isFolder(path) || /\bmkdir\b/.test(line) || (posix.dirname(place) === '.' && existsSync(path));
  const folder = isWhole ? place : posix.dirname(place);
  if (folder === '.') return amongAll(place, site);
  return `it was refused to write ${place}; ${grant(site, { caps: { filesystem: { write: [folder] } } })}`;
}

/** Its code is a copy that nobody writes to: what it keeps has to go elsewhere, and only it can say how that is named. */
function amongCode(place: string, site: RefusalSite): string {
  return `it was refused to write ${place}, among its own code, which stays as it is; ${elsewhere(place, site)}`;
}

/** No program may write all of the workspace: policy, packs and Haft's own state lie there. */
function amongAll(place: string, site: RefusalSite): string {
  const what = place === '.' ? 'the workspace itself' : `${place}, at the top of the workspace`;
  return `it was refused to write ${what}, which holds policy and Haft's own state and is granted to no pack as a whole; ${elsewhere(place, site)}`;
}

function elsewhere(place: string, site: RefusalSite): string {
  const file = place === '.' ? '' : posix.basename(place).replace(/(\.[0-9a-f]{8,})?\.tmp$/, '');
  const name = variablesOf(site).find((one) => PLACE.test(one));
  const set = { env: { set: { [name ?? 'NAME']: join(site.root, 'data', file) } } };
  const how = name === undefined ? 'by a variable or an argument that it knows' : `it reads ${name}`;
  const line = grant(site, { ...set, caps: { filesystem: { write: ['data'] } } });
  return `name another place for it (${how}), and ${line}`;
}

const PLACE = /FILE|PATH|DIR|HOME|STORE|DATA|DB/;
const VARIABLE =
  /process\.env(?:\.|\[['"])([A-Z][A-Z0-9_]{2,60})|os\.(?:environ(?:\.get\(|\[)|getenv\()\s*['"]([A-Z][A-Z0-9_]{2,60})/g;
const READ_BYTES = 1024 * 1024;

/** Those that its script reads. */
function variablesOf({ root, config }: RefusalSite): string[] {
  const cwd = typeof config.cwd === 'string' ? config.cwd : '.';
  return scriptsOf(config).flatMap((script) => {
    const path = join(root, cwd, script);
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? READ_BYTES;
    if (size >= READ_BYTES) return [];
    return [...textOf(path).matchAll(VARIABLE)].map(([, node, python]) => (node ?? python) as string);
  });
}

function textOf(path: string): string {
  try {
    return readRegularText(path);
  } catch {
    return '';
  }
}

/** Relative to the workspace: the folders that its code is taken from. */
function ownFolders({ config }: RefusalSite): string[] {
  const cwd = typeof config.cwd === 'string' ? config.cwd : '.';
  return scriptsOf(config).flatMap((script) => {
    const path = posix.join(cwd, script);
    const folder = /^(?:.*?\/)?node_modules(?=\/)/.exec(path)?.[0] ?? posix.dirname(path);
    return folder === '.' || folder.startsWith('..') ? [] : [folder];
  });
}

function scriptsOf({ command }: JsonObject): readonly string[] {
  if (!Array.isArray(command) || command.length === 0 || !command.every((word) => typeof word === 'string'))
    return [];
  return readCommandCode(command as unknown as [string, ...string[]]).scripts.filter(
    (one) => !isAbsolute(one),
  );
}

function aboutRead(line: string, site: RefusalSite): string | undefined {
  if (!NOT_THERE.test(line)) return undefined;
  const path = pathIn(line, site);
  const place = path === undefined ? undefined : placeOf(path, site);
  if (path === undefined || place === undefined || place === '.') return undefined;
  // It sees that place as it is: what it misses is not there.
  if (isGranted(place, site, ['read', 'write'])) return undefined;
  if (existsSync(path))
    return `it is not shown ${place}; ${grant(site, { caps: { filesystem: { read: [place] } } })}`;
  // What is not there may be what it wanted to make, where it did not only look.
  if (ONLY_LOOKS.test(line) || !MAKES.test(line)) return undefined;
  const folder = posix.dirname(place);
  if (folder === '.' || !existsSync(dirname(path))) return undefined;
  return `it is not shown ${folder}, where it would make ${posix.basename(place)}; ${grant(site, { caps: { filesystem: { write: [folder] } } })}`;
}

function aboutImport(line: string, site: RefusalSite): string | undefined {
  const [, python] = /No module named ['"]([\w.]+)['"]/.exec(line) ?? [];
  if (python !== undefined) return aboutPython(python.split('.')[0] ?? python, site);
  const [, name, by] =
    /Cannot find (?:package|module) ['"]([^'"]+)['"](?: imported from ['"]?([^'"\n]+?)['"]?$)?/.exec(line) ??
    [];
  if (name === undefined) return undefined;
  if (name.startsWith('/') || name.startsWith('file:')) {
    const path = name.replace(/^file:\/\//, '');
    const place = placeOf(path, site);
    if (place === undefined || !existsSync(path)) return undefined;
    const part = posix.dirname(place) === '.' ? place : posix.dirname(place);
    return `it could not import ${place}, which it is not shown; ${grant(site, { parts: [part] })}`;
  }
  if (name.startsWith('.')) return undefined;
  const owner = name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : (name.split('/')[0] as string);
  const from = by !== undefined && isAbsolute(by) ? dirname(by) : site.root;
  const home = foldersUp(from)
    .map((folder) => join(folder, 'node_modules'))
    .find((folder) => existsSync(join(folder, owner)));
  const place = home && placeOf(home, site);
  if (place === undefined) return `it could not import ${owner}, which is not installed beside it`;
  return `it could not import ${owner}, which it is not shown; ${grant(site, { parts: [place] })}`;
}

/** Of the interpreter it has the modules of the system alone; those of a venv come with the venv. */
function aboutPython(name: string, site: RefusalSite): string | undefined {
  const beside = join(site.root, `${name}.py`);
  if (existsSync(beside) || existsSync(join(site.root, name, '__init__.py')))
    return `it could not import ${name}, which it is not shown; ${grant(site, { parts: [existsSync(beside) ? `${name}.py` : name] })}`;
  const venv = ['.venv', 'venv', 'env'].find((folder) => hasModule(join(site.root, folder), name));
  const { command } = site.config;
  const rest = Array.isArray(command) ? command.slice(1) : [];
  if (venv !== undefined)
    return `it could not import ${name}, which ${venv} has; ${grant(site, { command: [`${venv}/bin/python`, ...rest], parts: [venv] })}`;
  return `it could not import ${name}: it sees the modules of the system alone; make a venv in the workspace, install it there, and start it with command: [.venv/bin/python, …] and parts: [.venv]`;
}

function hasModule(venv: string, name: string): boolean {
  try {
    return readdirSync(join(venv, 'lib')).some((python) =>
      ['', '.py'].some((end) => existsSync(join(venv, 'lib', python, 'site-packages', `${name}${end}`))),
    );
  } catch {
    return false;
  }
}

/** The path that a complaint names: quoted, or the last word that is one. Relative ones are of its working folder. */
function pathIn(line: string, { root, config }: RefusalSite): string | undefined {
  const quoted = [...line.matchAll(/['"`‘“]([^'"`’”\n]{1,4096})['"`’”]/g)].map(([, path]) => path as string);
  const words = line.split(/[\s'"`()[\]{},;<>=|&:]+/);
  const cwd = typeof config.cwd === 'string' ? config.cwd : '.';
  const found =
    quoted.findLast((one) => one.includes('/') || /\.\w+$/.test(one)) ??
    words.findLast((word) => /^\.?\/./.test(word));
  if (found === undefined || found.includes('\0')) return undefined;
  return isAbsolute(found) ? posix.normalize(found) : join(root, cwd, found);
}

/** Relative to the workspace; undefined for what lies outside of it. */
function placeOf(path: string, { root }: RefusalSite): string | undefined {
  const place = relative(root, path);
  return place === '..' || place.startsWith('../') || isAbsolute(place) ? undefined : place || '.';
}

/** Its config grants this place already, or one above it. */
function isGranted(place: string, { config }: RefusalSite, by: readonly ('read' | 'write')[]): boolean {
  const { filesystem } = isMap(config.caps) ? config.caps : {};
  const lists = isMap(filesystem) ? by.map((access) => filesystem[access]) : [];
  const granted = lists.flatMap((list) => (Array.isArray(list) ? list : []));
  return granted.some((one) => {
    if (typeof one !== 'string') return false;
    const folder = posix.normalize(one).replace(/\/$/, '');
    return folder === '.' || place === folder || place.startsWith(`${folder}/`);
  });
}

/** As a line of the pack, with what it has of that already. */
function grant({ kind, config }: RefusalSite, more: JsonObject): string {
  return `to grant it, the pack needs under ${kind}: ${JSON.stringify(merged(config, more))}`;
}

function merged(config: JsonObject, more: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(more).map(([key, value]) => {
      const known = config[key];
      if (Array.isArray(value))
        return [key, key === 'command' || !Array.isArray(known) ? value : [...new Set([...known, ...value])]];
      if (!isMap(value)) return [key, value];
      const map = isMap(known) ? known : {};
      return [key, { ...map, ...merged(map, value) }];
    }),
  );
}

const isMap = (value: unknown): value is JsonObject => isRecord(value);

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
