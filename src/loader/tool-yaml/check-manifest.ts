// Owns: one manifest from its values to a definition, with everything that is wrong with it.
// Refuses: text and places: problems name the way to a value, and finding that in the text is for whoever shows them.
import { posix } from 'node:path';
import type { MapShape } from '../../contract/shape.ts';
import { checkShape } from '../yaml/check-shape.ts';
import { createTeller, type Problem, type Teller } from '../yaml/problem.ts';
import type { ShapeSite } from '../yaml/shape-site.ts';
import { type Way, wayOf, wayText } from '../yaml/way.ts';
import { buildTool, type ToolDefinition, type WholeDraft } from './build-tool.ts';
import { checkEntry, checkTogether } from './check-together.ts';
import type { PackNames } from './pack-uri.ts';
import { type ExecutionSite, resolveExecution } from './resolve-execution.ts';
import type { SchemaFiles } from './schema-files.ts';
import type { ScriptFiles } from './script-files.ts';
import { TEXT_CHECKS, type TextCheck } from './text-checks.ts';
import type { ActionDraft, ExecutionDraft, ToolDraft } from './tool-draft.ts';
import { TOOL_YAML } from './tool-yaml-shape.ts';

export interface ManifestSite {
  readonly schemas: SchemaFiles;
  readonly scripts: ScriptFiles;
  readonly names: PackNames;
}

export interface CheckedManifest {
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
    if (whole === undefined && tell.errors === before) {
      tell.error('ref.broken', way, 'A schema that this one refers to has problems of its own');
    }
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
