// Owns: one manifest from its values to a definition, with everything that is wrong with it.
// Refuses: text and places: problems name the way to a value, and finding that in the text is for whoever shows them.
import { posix } from 'node:path';
import { quoted } from '../../contract/diagnostic.ts';
import type { MapShape } from '../../contract/shape.ts';
import type {
  YamlExecution,
  YamlExecutions,
  YamlKind,
  YamlModule,
  YamlScript,
} from '../../contract/yaml-tool.ts';
import { checkShape } from '../yaml/check-shape.ts';
import { createTeller, type Problem, type Teller } from '../yaml/problem.ts';
import type { ShapeSite } from '../yaml/shape-site.ts';
import { type Way, wayOf, wayText } from '../yaml/way.ts';
import type { ActionDraft, ExecutionDraft, ToolDefinition, ToolDraft, WholeDraft } from './build-tool.ts';
import { buildTool } from './build-tool.ts';
import { checkEntry, checkTogether } from './check-together.ts';
import type { FileRefusal, FileStamp, PackReader } from './pack-files.ts';
import type { PackNames, SchemaFiles } from './schema-files.ts';
import { isTemplate, TEXT_CHECKS, type TextCheck } from './text-checks.ts';
import { TOOL_YAML } from './tool-yaml-shape.ts';

export interface ManifestSite {
  readonly schemas: SchemaFiles;
  readonly scripts: ScriptFiles;
  readonly names: PackNames;
}

interface CheckedManifest {
  readonly problems: readonly Problem[];
  /** Absent where one of the problems is an error. */
  readonly tool?: ToolDefinition;
}

/** `path` is that of the manifest, relative to the pack's folder. */
export function checkManifest(
  value: unknown,
  path: string,
  { schemas, scripts, names }: ManifestSite,
): CheckedManifest {
  const problems: Problem[] = [];
  const tell = createTeller((problem) => void problems.push(problem));
  const schema = (root: unknown, way: Way | undefined): unknown => {
    const before = tell.errors;
    const source = {
      // Only what refers to something needs a name.
      get uri() {
        return names.part(path, wayText(way));
      },
      root,
      dialect: '2020-12' as const,
      tell,
      way,
    };
    const whole = schemas.whole(source, path);
    if (whole === undefined && tell.errors === before)
      tell.error('ref.broken', way, 'A schema that this one refers to has problems of its own');
    return whole;
  };
  const draft = (checkShape(TOOL_YAML, value, undefined, siteOf(tell, schema)) ?? {}) as ToolDraft;
  const folder = posix.dirname(path) === '.' ? '' : posix.dirname(path);
  const site: ExecutionSite = {
    tell,
    scripts,
    folder,
    templates: draft.templating !== undefined,
    used: new Map(),
  };
  checkTogether(draft, tell);
  const written = new Set(Object.keys((value as { readonly execution?: object } | null)?.execution ?? {}));
  const execution = draft.execution && executionOf(draft.execution, written, wayOf(['execution']), site);
  const actions = new Map(
    Object.entries(draft.actions ?? {}).map(
      ([name, action]) => [name, actionExecution(name, action, draft, written, site)] as const,
    ),
  );
  if (tell.errors > 0 || !execution) return { problems };
  const resolved = new Map([...actions].flatMap(([name, own]) => (own ? [[name, own]] : [])));
  const tool = buildTool(draft as WholeDraft, { execution, actions: resolved, scripts: site.used.values() });
  return { problems, tool };
}

const siteOf = (tell: Teller, schema: NonNullable<ShapeSite['schema']>): ShapeSite => ({
  tell,
  name: 'The manifest',
  root: TOOL_YAML,
  texts: (check, text) => TEXT_CHECKS[check as TextCheck](text),
  schema,
});

function executionOf(
  draft: ExecutionDraft,
  written: ReadonlySet<string>,
  way: Way | undefined,
  site: ExecutionSite,
) {
  checkEntry(draft, written, way, site.tell);
  return resolveExecution(draft, way, site);
}

/** An action's keys take the place of the tool's; naming something else to run takes the place of what the tool runs. */
function actionExecution(
  name: string,
  action: ActionDraft | undefined,
  { execution }: ToolDraft,
  written: ReadonlySet<string>,
  site: ExecutionSite,
) {
  const kind = execution?.kind;
  if (!action?.execution || !kind) return undefined;
  const way = wayOf(['actions', name, 'execution']);
  const { kind: _, ...keys } = (EXECUTION[kind] as MapShape).keys;
  const shape: MapShape = { is: 'map', doc: '', keys };
  const own = checkShape(
    shape,
    action.execution,
    way,
    siteOf(site.tell, (root) => root),
  ) as ExecutionDraft;
  const ownKeys = Object.keys(action.execution);
  const replaces = ownKeys.some((key) => ENTRIES.has(key));
  const stays = (key: string) => !replaces || !ENTRIES.has(key);
  const base = Object.fromEntries(Object.entries(execution).filter(([key]) => stays(key)));
  const all = new Set([...[...written].filter(stays), ...ownKeys]);
  return executionOf({ ...base, ...own }, all, way, site);
}

const ENTRIES: ReadonlySet<string> = new Set(['module', 'script', 'node', 'php']);
const EXECUTION = (TOOL_YAML.keys.execution as { readonly of: { readonly [kind: string]: MapShape } }).of;

interface ExecutionSite {
  readonly tell: Teller;
  readonly scripts: ScriptFiles;
  /** The manifest's folder, relative to the pack's; '' is the pack's. */
  readonly folder: string;
  /** Whether there is `templating`. */
  readonly templates: boolean;
  /** Filled in: the files of the pack that are run. */
  readonly used: Map<string, YamlScript>;
}

/** Undefined where something that it needs is missing or wrong; that was told. */
function resolveExecution(
  draft: ExecutionDraft,
  way: Way | undefined,
  site: ExecutionSite,
): YamlExecution | undefined {
  const { kind } = draft;
  if (kind === undefined) return undefined;
  const resolved = (RESOLVERS[kind] as Resolver)(draft, way, site);
  return resolved && ({ kind, ...resolved } as YamlExecution);
}

type Resolver<R = object> = (
  draft: ExecutionDraft,
  way: Way | undefined,
  site: ExecutionSite,
) => R | undefined;

const RESOLVERS: { readonly [K in YamlKind]: Resolver<YamlExecutions[K]> } = {
  python({ module, script, warm = false }, way, site) {
    if (module !== undefined) {
      const entry = pythonModule(module, way, site);
      return entry && { entry, warm };
    }
    return withScript(script, way, 'script', site, (path) => ({ entry: { by: 'script', path }, warm }));
  },
  node({ module, script, node, warm = false }, way, site) {
    if (module !== undefined) {
      const entry = nodeModule(module, way, site);
      return entry && { entry, warm };
    }
    const key = script === undefined ? 'node' : 'script';
    return withScript(script ?? node, way, key, site, (path) => ({ entry: { by: 'script', path }, warm }));
  },
  php({ php, script }, way, site) {
    const key = php === undefined ? 'script' : 'php';
    return withScript(php ?? script, way, key, site, (path) => ({ entry: { by: 'script', path } }));
  },
  cli({ cmd = [] }, way, site) {
    const [program, ...rest] = cmd;
    if (program === undefined || rest.includes(undefined)) return undefined;
    const whole = [program, ...(rest as string[])] as const;
    if (!program.includes('/') || program.startsWith('/')) return { cmd: whole };
    const at: Way = { up: { up: way, step: 'cmd' }, step: 0 };
    if (site.templates && isTemplate(program)) {
      site.tell.error('execution.cmd', at, `${wayText(at)}: a program of the pack cannot be a template`);
      return undefined;
    }
    const path = takeScript(program, at, site);
    return path === undefined ? undefined : { cmd: whole, script: path };
  },
  http({ url, method, headers = {}, body }) {
    if (url === undefined || Object.values(headers).includes(undefined)) return undefined;
    return {
      url,
      method: (method ?? (body === undefined ? 'GET' : 'POST')).toUpperCase(),
      headers: headers as { readonly [name: string]: string },
      ...(body === undefined ? {} : { body }),
    };
  },
};

function withScript<R>(
  written: string | undefined,
  way: Way | undefined,
  key: string,
  site: ExecutionSite,
  make: (path: string) => R,
): R | undefined {
  const path = written === undefined ? undefined : takeScript(written, { up: way, step: key }, site);
  return path === undefined ? undefined : make(path);
}

/** The path below the pack's folder; undefined where it is no file of the pack. */
function takeScript(written: string, way: Way, site: ExecutionSite): string | undefined {
  const path = posix.join(site.folder, written);
  const found = site.scripts.find(path);
  if ('code' in found) {
    const code = found.code === 'path.outside' ? found.code : 'script.unusable';
    site.tell.error(code, way, `${wayText(way)}: ${quoted(written)} ${found.fact}`);
    return undefined;
  }
  if (found.sha256 === null) {
    site.tell.error('script.missing', way, `${wayText(way)}: there is no file ${quoted(written)}`);
    return undefined;
  }
  site.used.set(path, found);
  return path;
}

/** Python finds modules by their names, in the manifest's folder first; what it finds elsewhere is not the pack's. */
function pythonModule(written: string, way: Way | undefined, site: ExecutionSite): YamlModule | undefined {
  const [module = '', callable = ''] = written.split(':');
  const name = module.replaceAll('.', '/');
  for (const below of new Set([site.folder, ''])) {
    for (const file of [`${name}.py`, `${name}/__init__.py`]) {
      const found = site.scripts.find(posix.join(below, file));
      if ('code' in found && found.code === 'file.not_regular') {
        const at: Way = { up: way, step: 'module' };
        site.tell.error('script.unusable', at, `${wayText(at)}: ${quoted(file)} ${found.fact}`);
        return undefined;
      }
      if ('code' in found || found.sha256 === null) continue;
      site.used.set(found.path, found);
      return { by: 'module', module, callable, folder: site.folder, file: found.path };
    }
  }
  return { by: 'module', module, callable, folder: site.folder };
}

/** A file where it begins with a dot or ends like one; else a package that is installed in the pack. */
function nodeModule(written: string, way: Way | undefined, site: ExecutionSite): YamlModule | undefined {
  const [, name = written, callable = 'default'] = /^(.*?)(?::([^:]+))?$/s.exec(written) ?? [];
  const { folder } = site;
  if (!/^\.|\.[cm]?[jt]s$/.test(name)) return { by: 'module', module: name, callable, folder };
  const path = takeScript(name, { up: way, step: 'module' }, site);
  return path === undefined ? undefined : { by: 'module', module: path, callable, folder, file: path };
}

interface ScriptFiles {
  /** The file of this normalised path below the pack's folder; `sha256` is null where nothing is there. */
  find(path: string): YamlScript | FileRefusal;
}

interface ScriptFilesSite {
  readonly reader: PackReader;
  /** Told of every file that is looked for, by its path; null where nothing is there. */
  depend(path: string, stamp: FileStamp | null): void;
}

export function createScriptFiles({ reader, depend }: ScriptFilesSite): ScriptFiles {
  const known = new Map<
    string,
    { readonly script: YamlScript | FileRefusal; readonly stamp: FileStamp | null }
  >();
  const look = (path: string) => {
    const found = reader.digest(path);
    if (found === undefined) return { script: { path, sha256: null }, stamp: null };
    if ('code' in found) return { script: found, stamp: null };
    return { script: { path, sha256: found.sha256 }, stamp: found.stamp };
  };
  return {
    find(path) {
      let found = known.get(path);
      if (!found) {
        found = look(path);
        known.set(path, found);
      }
      depend(path, found.stamp);
      return found.script;
    },
  };
}
