// Owns: what is run: an execution as it was written becomes one whose files are found, and are files of the pack.
// Refuses: files that lie elsewhere, and those that are not there.

import { posix } from 'node:path';
import { quoted } from '../../contract/diagnostic.ts';
import type {
  YamlExecution,
  YamlExecutions,
  YamlKind,
  YamlModule,
  YamlScript,
} from '../../contract/yaml-tool.ts';
import type { Teller } from '../yaml/problem.ts';
import { type Way, wayText } from '../yaml/way.ts';
import type { ScriptFiles } from './script-files.ts';
import { isTemplate } from './text-checks.ts';
import type { ExecutionDraft } from './tool-draft.ts';

export interface ExecutionSite {
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
export function resolveExecution(
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
