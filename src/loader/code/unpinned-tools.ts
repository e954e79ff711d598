// Owns: what the tools of a folder run that no digest covers: programs of the machine, services, what links lead to.
// Refuses: to list the same thing twice.
import type { Unpinned } from '../../contract/lock.ts';
import type { YamlExecution, YamlTool } from '../../contract/yaml-tool.ts';

const MACHINE = 'a program of this machine';

export function unpinnedTools(tools: readonly YamlTool[], outward: readonly string[]): readonly Unpinned[] {
  const found = new Map<string, string>();
  for (const { execution, actions, caps } of tools) {
    for (const one of [execution, ...actions.map((action) => action.execution)]) {
      const [what, why] = runBy(one);
      if (what !== undefined) found.set(what, why);
    }
    if (caps.subprocess)
      found.set('programs that it starts', 'caps.subprocess lets it start those of this machine');
  }
  for (const path of outward) found.set(path, 'a link that leads out of its folder');
  return [...found].map(([what, why]) => ({ what, why })).sort((a, b) => (a.what < b.what ? -1 : 1));
}

/** `node` is the one that runs Haft. */
function runBy(execution: YamlExecution): readonly [what: string | undefined, why: string] {
  switch (execution.kind) {
    case 'python':
      return ['python3', MACHINE];
    case 'php':
      return ['php', MACHINE];
    case 'cli':
      return [execution.script === undefined ? execution.cmd[0] : undefined, MACHINE];
    case 'http':
      return [execution.url.split('?')[0], 'a service that runs elsewhere'];
    default:
      return [undefined, ''];
  }
}
