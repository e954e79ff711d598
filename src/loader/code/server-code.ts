// Owns: the code of a server: copied as it is when the server is opened, and what is shown in its place when it is started.
// Refuses: to keep a server from running because its code is too large to be copied: that is listed as not pinned.
import { lstatSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import {
  CODE_NAME,
  joinedValue,
  loadedByNode,
  modulesFolder,
  readCommandCode,
  SYSTEM_PATH,
} from '../../base/command-code.ts';
import { digest } from '../../base/digest.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import { parseHttpUrl } from '../../contract/http.ts';
import type { Unpinned } from '../../contract/lock.ts';
import type { ProgramConfig } from '../../contract/program.ts';
import { isWithin } from '../is-within.ts';
import { readRegularText } from '../read-regular.ts';
import type { CodeFolder } from './code-copies.ts';
import { lockedFiles } from './locked-files.ts';
import { type NpxSite, parseNpx, type TakenServer, takeNpx } from './npx-package.ts';

/** A program that is started here, a service that is reached, or what an adapter needs neither for. */
export type ServerConfig = ProgramConfig | { readonly url: string } | { readonly url?: never };

export async function takeServer(config: ServerConfig, site: NpxSite): Promise<TakenServer> {
  const { root, code } = site;
  if ('url' in config && config.url !== undefined) {
    const unpinned = [{ what: parseHttpUrl(config.url).url.origin, why: 'a service that runs elsewhere' }];
    return { files: {}, unpinned, start: () => ({ copies: [] }) };
  }
  // What is no program of this machine has nothing that could be pinned.
  if (!('command' in config)) return { files: {}, unpinned: [], start: () => ({ copies: [] }) };
  const npx = parseNpx(config.command);
  if (npx) {
    const taken = await takeNpx(npx, site);
    const shown = npx.args.filter((word) => isFile(resolve(root, config.cwd ?? '.', word)));
    const open = [...shown.map((what) => ({ what, why: 'it is shown as it is' })), ...openEnds(config, root)];
    return { ...taken, unpinned: [...taken.unpinned, ...open] };
  }
  const { folders, unpinned: found } = findServerCode(config, root);
  const unpinned = [...found];
  const files: Record<string, string> = {};
  const taken: { readonly folder: CodeFolder; readonly digest: string; readonly label: string }[] = [];
  for (const folder of folders) {
    const label = isWithin(folder.at, root) ? folder.at.slice(root.length + 1) : basename(folder.at);
    try {
      const tree = code.take(folder, label);
      taken.push({ folder, digest: tree.digest, label });
      const isFile = tree.files[0]?.path === '';
      Object.assign(files, isFile ? { [label]: tree.files[0]?.sha256 } : lockedFiles(tree, `${label}/`));
      for (const path of tree.outward)
        unpinned.push({ what: `${label}/${path}`, why: 'a link that leads out of its folder' });
    } catch (thrown) {
      if (!isFailure(thrown) || thrown.reason !== 'pack.invalid') throw thrown;
      unpinned.push({ what: label, why: thrown.message.replace(/^Cannot take the pack "[^"]*": /, '') });
    }
  }
  const rows = taken.map(({ label, digest: one }) => [label, one]).sort();
  return {
    ...(rows.length === 0 ? {} : { digest: digest('toolpack/v1', canonicalJson({ code: rows })) }),
    files,
    unpinned,
    start: () => ({
      parts: folders.map(({ at }) => at),
      copies: taken.map(({ folder, digest: one }) => ({
        at: folder.at,
        from: code.use(folder, one),
        ...(folder.live ? { live: folder.live.map((path) => join(folder.at, path)) } : {}),
      })),
    }),
  };
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

interface ServerCode {
  readonly folders: readonly CodeFolder[];
  readonly unpinned: readonly Unpinned[];
}

const FETCHER = /^(npx|npm|pnpm|pnpx|yarn|bunx|uvx|uv|pipx|docker|podman|go|cargo|dotnet|java)$/;
/** Variables that say what an interpreter loads. */
const LOADING =
  /^(NODE_OPTIONS|NODE_PATH|PYTHON(PATH|HOME|STARTUP)|PERL5(LIB|OPT)|RUBY(LIB|OPT)|BASH_ENV|ENV|LD_\w+)$/;

function findServerCode(config: ProgramConfig, root: string): ServerCode {
  const { command, cwd = '.', parts = [], env = {} } = config;
  const folders = new Map<string, CodeFolder>();
  const unpinned: Unpinned[] = [];
  const site: Site = { config, root, folders, unpinned };
  const at = (word: string) => resolve(root, cwd, word.replace(/^file:\/\//, ''));
  const { programs, interpreter, scripts, loaded, module } = readCommandCode(command);
  for (const [index, program] of programs.entries()) {
    const name = basename(program);
    if (!program.includes('/')) {
      // `node` is the one that runs Haft.
      const isOwn = name === 'node' && index === 0;
      if (!isOwn) unpinned.push({ what: name, why: FETCHER.test(name) ? FETCHES : MACHINE });
    } else if (SYSTEM_PATH.test(program)) unpinned.push({ what: program, why: MACHINE });
    else takeCode(at(program), program, site);
  }
  if (module !== undefined) unpinned.push({ what: module, why: 'a module that the interpreter looks up' });
  const script = findScript(scripts, at) ?? (interpreter && scripts[0]);
  const code = [...loaded, ...loadedByNode(env.set?.NODE_OPTIONS ?? '')].filter((word) => codeAt(at(word)));
  for (const word of script === undefined ? code : [...code, script]) takeCode(at(word), word, site);
  for (const part of parts) takeFolder(resolve(root, part), part, site);
  const grants = granted(config, root);
  for (const word of command.slice(1).flatMap((one) => [one, joinedValue(one) ?? one])) {
    const path = fileAt(at(word));
    // What it is granted is data.
    if (path && !grants.some((grant) => isWithin(path, grant))) takeFile(path, site);
  }
  return { folders: [...folders.values()], unpinned: [...unpinned, ...openEnds(config, root, folders)] };
}

/** Which words are values of options is not known of all: where the first names nothing that can run, another one may. */
function findScript(words: readonly string[], at: (word: string) => string): string | undefined {
  const [first] = words;
  const real = first === undefined ? undefined : codeAt(at(first));
  const isRun =
    real !== undefined &&
    ['', 'index.js', 'package.json', '__main__.py'].some((one) => fileAt(join(real, one)));
  return isRun ? first : words.find((word) => CODE_NAME.test(word) && fileAt(at(word)) !== undefined);
}

/** What code can come from that nobody looks at before it runs. */
function openEnds(
  { caps = {}, env = {} }: ProgramConfig,
  root: string,
  folders: ReadonlyMap<string, CodeFolder> = new Map(),
): readonly Unpinned[] {
  const { read = [], write = [] } = caps.filesystem ?? {};
  const grants = [...new Set([...read, ...write])].filter(
    (path) => write.includes(path) || !folders.has(realOf(resolve(root, path)) ?? ''),
  );
  const variables = (env.passthrough ?? []).filter((name) => LOADING.test(name));
  return [
    ...grants.map((path) => ({ what: `what caps lets it read below ${path}`, why: 'it is shown as it is' })),
    ...variables.map((name) => ({ what: name, why: 'a variable of the environment that can name code' })),
    ...(caps.subprocess
      ? [{ what: 'programs that it starts', why: 'caps.subprocess lets it start those of this machine' }]
      : []),
  ];
}

const MACHINE = 'a program of this machine';
const FETCHES = 'it runs, or fetches, what is not in this workspace';

interface Site {
  readonly config: ProgramConfig;
  readonly root: string;
  readonly folders: Map<string, CodeFolder>;
  readonly unpinned: Unpinned[];
}

/** A script or a program, with the folder that it lies in: what it loads lies there, or below. */
function takeCode(path: string, word: string, site: Site): void {
  const { config, root, folders, unpinned } = site;
  if (SYSTEM_PATH.test(path)) return void unpinned.push({ what: word, why: MACHINE });
  const real = codeAt(path);
  if (real === undefined) return void unpinned.push({ what: word, why: 'it is not there' });
  if (SYSTEM_PATH.test(real)) return void unpinned.push({ what: word, why: MACHINE });
  if (fileAt(real) === undefined) {
    // An interpreter would wait for it.
    if (!statSync(real, { throwIfNoEntry: false })?.isDirectory())
      throw fail('pack.invalid', `Cannot start "${word}": it is neither a file nor a folder`);
    return takeFolder(real, word, site);
  }
  const packages = modulesFolder(real);
  if (packages !== undefined) {
    const roots = packageFolders(packages, real.slice(packages.length + 1));
    // The Node.js that runs Haft may be a package, too.
    const live = isWithin(process.execPath, packages) ? [process.execPath.slice(packages.length + 1)] : [];
    folders.set(packages, { at: packages, roots, ...(live.length > 0 ? { live } : {}) });
    return;
  }
  const folder = dirname(real);
  const writes = (config.caps?.filesystem?.write ?? []).map((one) => resolve(root, one));
  const isWritten = writes.some((one) => isWithin(folder, one));
  const isRoot = isWithin(root, folder);
  if (!isWritten && !isRoot) return takeFolder(folder, word, site);
  // Nothing else of that folder is shown, but for what caps grants, which is listed.
  takeFile(real, site);
}

function takeFolder(path: string, word: string, { config, root, folders, unpinned }: Site): void {
  const real = realOf(path);
  if (real === undefined) return void unpinned.push({ what: word, why: 'it is not there' });
  if (isWithin(root, real))
    return void unpinned.push({ what: word, why: 'it is the workspace, or holds it' });
  const live = granted(config, root)
    .filter((grant) => grant !== real && isWithin(grant, real))
    .map((grant) => grant.slice(real.length + 1));
  folders.set(real, { at: real, ...(live.length > 0 ? { live: [...new Set(live)].sort() } : {}) });
}

function takeFile(real: string, { folders }: Site): void {
  const isCovered = [...folders.values()].some(
    ({ at, roots, live = [] }) =>
      isWithin(real, at) &&
      (roots ?? ['']).some((one) => isWithin(real, join(at, one))) &&
      !live.some((one) => isWithin(real, join(at, one))),
  );
  if (!isCovered) folders.set(real, { at: real });
}

const granted = ({ caps }: ProgramConfig, root: string): string[] =>
  [...(caps?.filesystem?.read ?? []), ...(caps?.filesystem?.write ?? [])].map((path) => resolve(root, path));

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

function fileAt(path: string): string | undefined {
  const real = path.length > 4_000 ? undefined : realOf(path);
  return real !== undefined && statSync(real, { throwIfNoEntry: false })?.isFile() ? real : undefined;
}

/** The file, or the folder, that an interpreter runs for a path; Node.js takes some names without their ends. */
function codeAt(path: string): string | undefined {
  const ends = ['', '.js', '.json', '.node'];
  const file = ends.map((end) => fileAt(`${path}${end}`)).find((real) => real !== undefined);
  return file ?? (path.length > 4_000 ? undefined : realOf(path));
}

/** Folders below `modules`, sorted; `path` is the script's, below it. Packages that are not installed are left out. */
function packageFolders(modules: string, path: string): readonly string[] {
  const found = new Set<string>(['.bin', '.package-lock.json']);
  const visit = (folder: string): void => {
    if (found.has(folder)) return;
    found.add(folder);
    for (const name of dependenciesOf(join(modules, folder))) {
      const at = lookUp(modules, folder, name);
      if (at !== undefined) visit(at);
    }
  };
  visit(/^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path);
  // What lies within another one is there with it.
  const all = [...found].sort();
  return all.filter((one) => !all.some((other) => one !== other && one.startsWith(`${other}/`)));
}

function dependenciesOf(folder: string): readonly string[] {
  try {
    const json = JSON.parse(readRegularText(join(folder, 'package.json'))) as Record<string, object>;
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = json;
    return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  } catch {
    return [];
  }
}

/** As Node.js looks: in the `node_modules` of every folder upwards. */
function lookUp(modules: string, from: string, name: string): string | undefined {
  for (let at = from; ; at = at.includes('/') ? at.slice(0, at.lastIndexOf('/')) : '') {
    const candidate = at === '' ? name : `${at}/node_modules/${name}`;
    if (lstatSync(join(modules, candidate), { throwIfNoEntry: false })) return candidate;
    if (at === '') return undefined;
  }
}
