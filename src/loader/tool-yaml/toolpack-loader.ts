// Owns: the tools of folders of `*.tool.yaml`: loaded all or nothing, listed by id, the same bytes for the same packs.
// Refuses: a pack with any mistake in it, unless it was told to leave the bad ones out.
import { realpathSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { closest } from '../../base/closest.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { checkFields, type KnownFields } from '../../contract/envelope.ts';
import { fail } from '../../contract/errors.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';
import { findPackFolder } from '../find-pack-folder.ts';
import { isWithin } from '../is-within.ts';
import { bodyOf, type CheckedFile, type CheckedTool, definitionOf } from './checked-file.ts';
import { readPackCache, writePackCache } from './pack-cache.ts';
import { listPack } from './pack-files.ts';
import { ToolpackValidationError } from './toolpack-validation-error.ts';

export interface ToolpackLoaderOptions {
  /** Loads what is good and leaves out the rest; `diagnostics` says what and why. */
  readonly quarantine?: boolean;
  /** Where checked packs are kept, two levels below a workspace's state folder. Without it nothing is kept. */
  readonly cacheFolder?: string;
  /** Milliseconds since 1970. */
  now?(): number;
}

/** What became of one folder. */
export interface PackReport {
  /** Absolute, links followed. */
  readonly folder: string;
  /** How many manifests it has, how many tools those gave, and how many of these were as the cache knew them. */
  readonly manifests: number;
  readonly tools: number;
  readonly reused: number;
  /** Files outside of the folder that schemas refer to: absolute, links followed, sorted. */
  readonly beside: readonly string[];
  /** Warnings, and what was left out with `quarantine`. */
  readonly diagnostics: readonly Diagnostic[];
}

interface LoadDirOptions {
  /** What diagnostics call the folder. */
  readonly label?: string;
  /** Schemas may refer to files below this folder, which holds the pack's; by default, to files of the pack alone. */
  readonly root?: string;
}

export class ToolpackLoader {
  readonly #options: ToolpackLoaderOptions;
  readonly #packs = new Map<string, readonly Entry[]>();
  readonly #reports = new Map<string, PackReport>();
  #sorted: readonly Entry[] | undefined;

  constructor(options: ToolpackLoaderOptions = {}) {
    this.#options = options;
  }

  /**
   * Loads every `*.tool.yaml` below the folder. Throws `ToolpackValidationError` with all that is wrong, and then keeps
   * what was loaded before. Loading a folder again takes the place of what it gave; other folders add to it.
   */
  async loadDir(dir: string, options: LoadDirOptions = {}): Promise<PackReport> {
    checkFields('load a folder', options, LOAD_OPTIONS);
    const { label = '', root } = options;
    const { cacheFolder, now = Date.now, quarantine = false } = this.#options;
    const pack = await loadPack(dir, { cacheFolder, now, root });
    const duplicates = await findDuplicates(pack.folder, pack.files, this.#taken(pack.folder));
    const diagnostics = inOrder(pack, duplicates.diagnostics, label);
    const failed = diagnostics.some(({ severity }) => severity === 'error');
    if (failed && !quarantine) throw new ToolpackValidationError(label || basename(pack.folder), diagnostics);
    const entries: Entry[] = [];
    for (const { path, tool } of pack.files)
      if (tool && !duplicates.paths.has(path)) entries.push({ folder: pack.folder, path, tool });
    const report: PackReport = {
      folder: pack.folder,
      manifests: pack.files.length,
      tools: entries.length,
      reused: pack.reused,
      beside: pack.beside,
      diagnostics,
    };
    deepFreeze(report);
    this.#packs.set(pack.folder, entries);
    this.#reports.set(pack.folder, report);
    this.#sorted = undefined;
    return report;
  }

  /** What was said about the packs that are loaded. */
  get diagnostics(): readonly Diagnostic[] {
    return [...this.#reports.values()].flatMap((report) => report.diagnostics);
  }

  /** Sorted by id. */
  list(): readonly YamlTool[] {
    return this.#entries().map(materialise);
  }

  /** The ids alone, sorted; cheap for thousands of tools. */
  ids(): readonly string[] {
    return this.#entries().map(idOf);
  }

  /** Throws `tool.unknown`. */
  get(id: string): YamlTool {
    const entry = find(this.#entries(), id);
    if (entry) return materialise(entry);
    const near = closest(id, this.ids());
    const hint = near ? `; did you mean "${near}"?` : '';
    throw fail(
      'tool.unknown',
      `Cannot get the tool ${JSON.stringify(id.slice(0, 80))}: no pack has it${hint}`,
    );
  }

  /** Canonical JSON of every definition, by id: equal for equal packs, wherever they lie. */
  snapshot(): Uint8Array {
    const pieces = this.#entries().flatMap(({ tool }, at) =>
      at === 0 ? [bodyOf(tool)] : [COMMA, bodyOf(tool)],
    );
    return Buffer.concat([OPEN, ...pieces, CLOSE]);
  }

  #entries(): readonly Entry[] {
    this.#sorted ??= [...this.#packs.values()].flat().sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
    return this.#sorted;
  }

  /** The ids of other folders' tools. */
  #taken(folder: string): Map<string, string> {
    const taken = new Map<string, string>();
    for (const [other, entries] of this.#packs) {
      if (other === folder) continue;
      for (const { path, tool } of entries) {
        for (const id of tool.ids) taken.set(id, `${basename(other)}/${path}`);
      }
    }
    return taken;
  }
}

interface Entry {
  readonly folder: string;
  readonly path: string;
  readonly tool: CheckedTool;
  /** Made when it is first asked for. */
  whole?: YamlTool;
}

const idOf = ({ tool }: Entry): string => tool.ids[0];

function materialise(entry: Entry): YamlTool {
  entry.whole ??= toTool(entry);
  return entry.whole;
}

function toTool({ folder, path, tool }: Entry): YamlTool {
  const { scripts, ...definition } = definitionOf(tool);
  return deepFreeze({ ...definition, source: { folder, file: path, scripts }, digest: tool.digest });
}

function find(sorted: readonly Entry[], id: string): Entry | undefined {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (idOf(sorted[middle] as Entry) < id) low = middle + 1;
    else high = middle;
  }
  const found = sorted[low];
  return found && idOf(found) === id ? found : undefined;
}

/** By file and place. */
function inOrder(pack: LoadedPack, more: readonly Diagnostic[], label: string): readonly Diagnostic[] {
  const all = [...pack.files.flatMap(({ diagnostics }) => diagnostics), ...pack.diagnostics, ...more];
  const named =
    label === '' ? all : all.map((one) => ({ ...one, file: posix.join(label, one.file).replace(/\/$/, '') }));
  return named.sort((a, b) => compare(a.file, b.file) || a.line - b.line || a.column - b.column);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const LOAD_OPTIONS: KnownFields<LoadDirOptions> = { label: true, root: true };

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

interface LoadPackOptions {
  readonly cacheFolder: string | undefined;
  /** What schemas may refer to, where that is more than the folder itself. */
  readonly root?: string | undefined;
  now(): number;
}

interface LoadedPack {
  /** Absolute, links followed; as it was given where there is no such folder. */
  readonly folder: string;
  readonly files: readonly CheckedFile[];
  /** Of files that are no manifests. */
  readonly diagnostics: readonly Diagnostic[];
  /** How many manifests were as the cache knew them. */
  readonly reused: number;
  /** Files outside of the folder that were read for it: absolute, links followed. */
  readonly beside: readonly string[];
}

async function loadPack(
  dir: string,
  { cacheFolder, now, root: given }: LoadPackOptions,
): Promise<LoadedPack> {
  const readAt = now();
  const folder = findPackFolder(dir);
  if (typeof folder !== 'string')
    return { folder: dir, files: [], diagnostics: [folder], reused: 0, beside: [] };
  const root = rootOf(folder, given);
  const { manifests, oddities } = listPack(folder);
  const files = cacheFolder ? readPackCache(cacheFolder, { folder, root }, manifests) : [];
  const reused = files.length;
  const stale = reused === manifests.length ? [] : without(manifests, files);
  const diagnostics: Diagnostic[] = oddities.map(({ path, code, message }) => ({
    ...START,
    file: path,
    severity: 'warning',
    code,
    message,
  }));
  if (stale.length > 0) {
    const { checkPack } = await import('./check-pack.ts');
    const checked = await checkPack(folder, stale, root);
    for (const file of checked.files) files.push(file);
    diagnostics.push(...checked.diagnostics);
  }
  if (cacheFolder && stale.length > 0) writePackCache(cacheFolder, { folder, root }, files, readAt);
  const beside = root === folder ? [] : besideOf(folder, files);
  return { folder, files, diagnostics, reused, beside };
}

function without(manifests: readonly string[], known: readonly CheckedFile[]): readonly string[] {
  const paths = new Set(known.map(({ path }) => path));
  return manifests.filter((path) => !paths.has(path));
}

/** One that does not hold the folder grants nothing beyond it. */
function rootOf(folder: string, given: string | undefined): string {
  if (given === undefined) return folder;
  const root = findPackFolder(given);
  return typeof root === 'string' && isWithin(folder, root) ? root : folder;
}

function besideOf(folder: string, files: readonly CheckedFile[]): readonly string[] {
  const paths = new Set<string>();
  for (const file of files)
    for (const { path, stamp } of file.made?.().depends ?? [])
      if (stamp && path.startsWith('../')) paths.add(path);
  return [...paths].map((path) => realpathSync.native(join(folder, path))).sort();
}

const START = { line: 1, column: 1 };

interface Duplicates {
  /** Paths of the manifests that share an id. */
  readonly paths: ReadonlySet<string>;
  readonly diagnostics: readonly Diagnostic[];
}

/** `taken` are the ids of other packs, each with the name of its manifest. */
async function findDuplicates(
  folder: string,
  files: readonly CheckedFile[],
  taken: ReadonlyMap<string, string>,
): Promise<Duplicates> {
  const first = new Map<string, CheckedFile>();
  const clashes: { readonly id: string; readonly file: CheckedFile; readonly other: string }[] = [];
  const paths = new Set<string>();
  for (const file of files) {
    for (const id of file.tool?.ids ?? []) {
      const other = first.get(id);
      const elsewhere = taken.get(id);
      if (!other && elsewhere === undefined) {
        first.set(id, file);
        continue;
      }
      // Whichever was read first, the one whose name comes later is told.
      const [kept, told] = other && file.path < other.path ? [file, other] : [other, file];
      if (kept) first.set(id, kept);
      clashes.push({ id, file: told, other: elsewhere ?? (kept as CheckedFile).path });
      paths.add(file.path);
      if (other) paths.add(other.path);
    }
  }
  const diagnostics = await Promise.all(
    clashes.map(async ({ id, file, other }): Promise<Diagnostic> => {
      const [own] = file.tool?.ids ?? [];
      const steps = id === own ? ['id'] : ['actions', id.slice((own ?? '').length + 1)];
      const { locateKey } = await import('./locate-key.ts');
      return {
        file: file.path,
        ...(await locateKey(folder, file.path, steps)),
        severity: 'error',
        code: 'id.duplicate',
        message: `${id} is already the id of a tool in ${other}`,
      };
    }),
  );
  return { paths, diagnostics };
}

/** The same value, frozen with everything in it. Written for thousands of values: it makes no lists on its way. */
function deepFreeze<T>(value: T): T {
  for (const key in value) {
    const inner = value[key];
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
