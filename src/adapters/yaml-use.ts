// Owns: a tool of a `*.tool.yaml` as a tool of this host, one for each of its actions, and the way back from there.
// Refuses: to read files, and to say how any kind is run.
import type { JsonObject } from '../contract/json.ts';
import type { BoundTool } from '../contract/manifest.ts';
import type { YamlAction, YamlExecution, YamlTool } from '../contract/yaml-tool.ts';

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
