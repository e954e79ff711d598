// Owns: a tool of a `*.tool.yaml` as an adapter uses it: bound, and its templates filled in for one call with the environment of its program.
// Refuses: to let a secret into what is shown: `masked` has placeholders in their place.
import { compileTemplate, type Template } from '../base/templating/compile-template.ts';
import { isTemplateFault } from '../base/templating/template-fault.ts';
import type { RunInputs, Secrets } from '../contract/adapter.ts';
import { injectCredentials } from '../contract/credentials.ts';
import { fail } from '../contract/errors.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { BoundTool } from '../contract/manifest.ts';
import { passedVariables } from '../contract/own-variable.ts';
import type { YamlAction, YamlCredential, YamlExecution, YamlTool } from '../contract/yaml-tool.ts';

/** What a call brings. */
interface FillingOptions {
  readonly input: unknown;
  /** Of the installation. */
  readonly config: JsonObject;
  readonly secrets: Secrets;
}

export interface Filling {
  /** What `env` grants, with templates filled in, and the secrets that are to be variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Of secrets that are to be headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** `where` is for messages: `cmd[1]`. Without `templating` a text is itself. */
  text(template: string, where: string): string;
  /** Every text in it is filled in. */
  json(value: Json, where: string): Json;
}

export interface Fillings {
  fill(use: YamlUse, options: FillingOptions): Filling;
  /** The same without secrets, for what policy decides and the audit keeps. */
  masked(use: YamlUse, options: Omit<FillingOptions, 'secrets'>): Filling;
}

const MAX_KEPT = 5_000;

export function createFillings(host: NodeJS.ProcessEnv = process.env): Fillings {
  const compiled = new Map<string, Template>();
  const templateOf = (source: string): Template => {
    let template = compiled.get(source);
    if (!template) {
      if (compiled.size >= MAX_KEPT) compiled.clear();
      template = compileTemplate(source);
      compiled.set(source, template);
    }
    return template;
  };
  const fill = (use: YamlUse, { input, config, secrets }: FillingOptions): Filling => {
    const { tool, id, action } = use;
    const injected = injectCredentials(tool.credentials, secrets);
    const passed = passedVariables(tool.env.passthrough, host);
    const context: Record<string, unknown> = {
      ...tool.templating?.context,
      input,
      env: passed,
      config,
      credentials: injected.context,
      id,
      version: tool.version,
      ...(action === undefined ? {} : { action }),
    };
    const text = (source: string, where: string): string => {
      if (!tool.templating) return source;
      try {
        return templateOf(source).render(context);
      } catch (thrown) {
        if (!isTemplateFault(thrown)) throw thrown;
        const at = source.includes('\n') ? ` (line ${thrown.templateLine})` : '';
        throw fail('tool.failed', `Cannot fill in ${where} of "${id}"${at}: ${thrown.message}`);
      }
    };
    const set: Record<string, string> = {};
    for (const [name, source] of Object.entries(tool.env.set)) set[name] = text(source, `env.set.${name}`);
    context.env = { ...passed, ...set };
    const json = (value: Json, where: string): Json => {
      if (typeof value === 'string') return text(value, where);
      if (Array.isArray(value)) return value.map((one, i) => json(one, `${where}[${i}]`));
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).map(([key, one]) => [key, json(one as Json, `${where}.${key}`)]),
      );
    };
    return { env: { ...passed, ...set, ...injected.env }, headers: injected.headers, text, json };
  };
  return {
    fill,
    masked: (use, options) => fill(use, { ...options, secrets: placeholders(use.tool.credentials) }),
  };
}

/** Both adapters of YAML tools say the same about runs. */
export function runInputs(
  fillings: Fillings,
  use: YamlUse,
  options: Omit<FillingOptions, 'secrets'>,
): RunInputs {
  const { digest: code, templating } = use.tool;
  if (templating?.cacheKey === undefined) return { code };
  return { code, key: fillings.masked(use, options).text(templating.cacheKey, 'templating.cacheKey') };
}

const MASK = 'SECRET';

function placeholders(needs: readonly YamlCredential[]): Secrets {
  return Object.fromEntries(
    needs.map((need) => {
      const { properties = {} } = need.schema as { readonly properties?: object };
      const fields = [...Object.keys(properties), ...Object.values(need.env), 'token'];
      const named = Object.values(need.headers).flatMap(
        (text) => text.match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? [],
      );
      return [need.provider, Object.fromEntries([...fields, ...named].map((field) => [field, MASK]))];
    }),
  );
}

/** What is called: a tool, or one of its actions, with the action's own words where it has some. */
export interface YamlUse extends Omit<YamlAction, 'name'> {
  readonly tool: YamlTool;
  readonly execution: YamlExecution;
  readonly action?: string;
}

/** The tools that one file describes. `binding.adapter` is `http` or `process`. */
export function bindYamlTool(tool: YamlTool): readonly BoundTool[] {
  const actions = tool.actions.length === 0 ? [undefined] : tool.actions.map(({ name }) => name);
  return actions.map((action) => {
    const use = useOf(tool, action);
    return {
      contract: {
        id: use.id,
        version: tool.version,
        contract: 'v1',
        title: action === undefined ? tool.name : `${tool.name}: ${action}`,
        description: use.description,
        tags: tool.tags,
        input: use.inputSchema,
        output: use.outputSchema,
        deterministic: use.deterministic,
        idempotent: use.idempotent,
        mutates: use.mutates,
        limits: { timeoutMs: use.timeoutMs, ...use.limits },
      },
      binding: {
        adapter: use.execution.kind === 'http' ? 'http' : 'process',
        target: { tool: tool as unknown as JsonObject, ...(action === undefined ? {} : { action }) },
      },
    };
  });
}

export function yamlUse({ binding }: BoundTool): YamlUse {
  const { tool, action } = binding.target as unknown as { tool: YamlTool; action?: string };
  return useOf(tool, action);
}

function useOf(tool: YamlTool, action: string | undefined): YamlUse {
  const own = action === undefined ? undefined : tool.actions.find(({ name }) => name === action);
  return { ...(own ?? tool), tool, ...(own ? { action: own.name } : {}) };
}
