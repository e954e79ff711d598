// Owns: a manifest without mistakes as a YamlTool: every default filled in, everything said in one way.
// Refuses: a draft with anything wrong in it; that has been told by then.
import { posix } from 'node:path';
import type { Json, JsonObject, JsonSchema } from '../../contract/json.ts';
import type {
  ActionWords,
  YamlAction,
  YamlCaps,
  YamlCredential,
  YamlExecution,
  YamlHealth,
  YamlKind,
  YamlRetry,
  YamlScript,
  YamlTool,
} from '../../contract/yaml-tool.ts';

/** What can change what a tool does; where it lies, and the digest, are put beside it. */
export type ToolDefinition = Omit<YamlTool, 'source' | 'digest'> & {
  readonly scripts: readonly YamlScript[];
};

interface Resolved {
  readonly execution: YamlExecution;
  /** Of each action, put over the tool's. */
  readonly actions: ReadonlyMap<string, YamlExecution>;
  readonly scripts: Iterable<YamlScript>;
}

/** A draft whose required keys are all there. */
export type WholeDraft = ToolDraft & Required<Pick<ToolDraft, RequiredKey>>;
type RequiredKey =
  | 'id'
  | 'version'
  | 'deterministic'
  | 'timeoutMs'
  | 'limits'
  | 'inputSchema'
  | 'outputSchema';

export function buildTool(draft: WholeDraft, { execution, actions, scripts }: Resolved): ToolDefinition {
  const caps = buildCaps(draft, execution);
  const { id, version, deterministic, timeoutMs, inputSchema, outputSchema, templating, config } = draft;
  const tool = {
    id,
    version,
    name: draft.name ?? id,
    description: draft.description ?? '',
    tags: draft.tags ?? [],
    deterministic,
    idempotent: draft.idempotent ?? usuallyIdempotent(execution, deterministic),
    mutates: draft.mutates ?? caps.filesystem.write.length > 0,
    timeoutMs,
    limits: draft.limits as Required<LimitsDraft>,
    inputSchema,
    outputSchema,
    execution,
    caps,
    env: {
      passthrough: sorted((draft.env?.passthrough ?? []) as string[]),
      set: (draft.env?.set ?? {}) as { readonly [name: string]: string },
    },
    ...(templating
      ? {
          templating: {
            engine: 'jinja2' as const,
            context: templating.context ?? {},
            ...(templating.cacheKey === undefined ? {} : { cacheKey: templating.cacheKey }),
          },
        }
      : {}),
    credentials: Object.entries(draft.credentials ?? {})
      .map(([provider, credential]) => buildCredential(provider, credential as CredentialDraft))
      .sort((a, b) => (a.provider < b.provider ? -1 : 1)),
    ...(config === undefined ? {} : { config }),
    ...(draft.retry ? { retry: buildRetry(draft.retry) } : {}),
    ...(draft.health ? { health: buildHealth(draft.health) } : {}),
    ...(draft.metadata ? { metadata: draft.metadata } : {}),
    scripts: [...scripts].sort((a, b) => (a.path < b.path ? -1 : 1)),
  };
  const built = Object.entries(draft.actions ?? {}).map(([name, action]) =>
    buildAction(name, action as ActionDraft, tool, actions.get(name) ?? execution),
  );
  return { ...tool, actions: built.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

function buildAction(
  name: string,
  draft: ActionDraft,
  tool: Omit<ToolDefinition, 'actions'>,
  execution: YamlExecution,
): YamlAction {
  const deterministic = draft.deterministic ?? tool.deterministic;
  return {
    name,
    id: `${tool.id}.${name}`,
    description: draft.description ?? tool.description,
    deterministic,
    idempotent:
      draft.idempotent ?? (draft.execution ? usuallyIdempotent(execution, deterministic) : tool.idempotent),
    mutates: draft.mutates ?? tool.mutates,
    timeoutMs: draft.timeoutMs ?? tool.timeoutMs,
    limits: (draft.limits ?? tool.limits) as Required<LimitsDraft>,
    inputSchema: draft.inputSchema ?? tool.inputSchema,
    outputSchema: draft.outputSchema ?? tool.outputSchema,
    execution,
  };
}

const usuallyIdempotent = (execution: YamlExecution, deterministic: boolean): boolean =>
  deterministic || (execution.kind === 'http' && /^(GET|HEAD)$/.test(execution.method));

function buildCaps({ caps }: ToolDraft, execution: YamlExecution): YamlCaps {
  const paths = (list: readonly (string | undefined)[] = []) => sorted((list as string[]).map(folderOf));
  return {
    network: sorted((caps?.network ?? schemesOf(execution)) as ('http' | 'https')[]),
    filesystem: { read: paths(caps?.filesystem?.read), write: paths(caps?.filesystem?.write) },
    subprocess: caps?.subprocess ?? false,
  };
}

/** A path with everything below it, in one spelling. */
const folderOf = (written: string): string =>
  posix.normalize(written.replace(/\/\*\*$/, '') || '/').replace(/(?<=.)\/$/, '');

function schemesOf(execution: YamlExecution): ('http' | 'https')[] {
  if (execution.kind !== 'http') return [];
  const scheme = /^https?(?=:)/.exec(execution.url)?.[0] as 'http' | 'https' | undefined;
  return scheme ? [scheme] : ['http', 'https'];
}

const sorted = <T extends string>(list: readonly T[]): T[] => [...new Set(list)].sort();

const TOKEN: JsonSchema = {
  type: 'object',
  properties: { token: { type: 'string', minLength: 1 } },
  required: ['token'],
  additionalProperties: false,
};

const buildCredential = (provider: string, draft: CredentialDraft): YamlCredential => ({
  provider,
  scope: draft.scope ?? 'any',
  required: draft.required ?? true,
  schema: draft.schema ?? TOKEN,
  env: (draft.env ?? {}) as { readonly [name: string]: string },
  headers: (draft.headers ?? {}) as { readonly [name: string]: string },
  context: draft.context ?? false,
});

const buildRetry = (draft: NonNullable<ToolDraft['retry']>): YamlRetry => ({
  attempts: draft.attempts ?? 1,
  delayMs: draft.delayMs ?? 200,
  maxDelayMs: Math.max(draft.maxDelayMs ?? 10_000, draft.delayMs ?? 0),
  factor: draft.factor ?? 2,
  onStatus: (draft.onStatus ?? [429, 502, 503, 504]) as number[],
});

const buildHealth = (draft: NonNullable<ToolDraft['health']>): YamlHealth => ({
  strategy: draft.strategy ?? 'process',
  intervalMs: draft.intervalMs ?? 30_000,
  timeoutMs: draft.timeoutMs ?? 5_000,
  failureThreshold: draft.failureThreshold ?? 3,
  successThreshold: draft.successThreshold ?? 1,
  ...(draft.url === undefined ? {} : { url: draft.url }),
  ...(draft.strategy === 'ping' ? { input: draft.input ?? {} } : {}),
});

/** Every key may be missing: because it was not written, or because what was written is wrong and told. */
export interface ToolDraft {
  readonly id?: string;
  readonly version?: string;
  readonly name?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly deterministic?: boolean;
  readonly idempotent?: boolean;
  readonly mutates?: boolean;
  readonly timeoutMs?: number;
  readonly limits?: LimitsDraft;
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly execution?: ExecutionDraft;
  readonly caps?: {
    readonly network?: readonly ('http' | 'https' | undefined)[];
    readonly filesystem?: {
      readonly read?: readonly (string | undefined)[];
      readonly write?: readonly (string | undefined)[];
    };
    readonly subprocess?: boolean;
  };
  readonly env?: {
    readonly passthrough?: readonly (string | undefined)[];
    readonly set?: { readonly [name: string]: string | undefined };
  };
  readonly templating?: {
    readonly engine?: 'jinja2';
    readonly context?: JsonObject;
    readonly cacheKey?: string;
  };
  readonly credentials?: { readonly [provider: string]: CredentialDraft | undefined };
  readonly config?: JsonSchema;
  readonly retry?: {
    readonly attempts?: number;
    readonly delayMs?: number;
    readonly maxDelayMs?: number;
    readonly factor?: number;
    readonly onStatus?: readonly (number | undefined)[];
  };
  readonly health?: Partial<YamlHealth>;
  readonly metadata?: JsonObject;
  readonly actions?: { readonly [name: string]: ActionDraft | undefined };
}

interface LimitsDraft {
  readonly maxInputBytes?: number;
  readonly maxOutputBytes?: number;
}

/** The keys of all kinds; the table has made sure that those of others are not there. */
export interface ExecutionDraft {
  readonly kind?: YamlKind;
  readonly module?: string;
  readonly script?: string;
  readonly node?: string;
  readonly php?: string;
  readonly warm?: boolean;
  readonly cmd?: readonly (string | undefined)[];
  readonly url?: string;
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly body?: Json;
}

interface CredentialDraft {
  readonly scope?: 'system' | 'user' | 'any';
  readonly required?: boolean;
  readonly schema?: JsonSchema;
  readonly env?: { readonly [name: string]: string | undefined };
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly context?: boolean;
}

export interface ActionDraft extends Pick<ToolDraft, 'description' | ActionWords> {
  readonly execution?: JsonObject;
}
