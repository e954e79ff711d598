// Owns: telling the author of a pack which of its deterministic tools are never replayed here, and why.
// Refuses: to call that an error: the tool works, and another workspace may be smaller.
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';
import { locateKey } from '../tool-yaml/locate-key.ts';
import { createReadInputs } from './read-inputs.ts';

/** `root` is the workspace that `caps` count from; `label` is what diagnostics call the tool's file. */
export async function checkReplay(
  tools: readonly YamlTool[],
  root: string,
  label: (tool: YamlTool) => string,
): Promise<readonly Diagnostic[]> {
  const readInputs = createReadInputs(root);
  const found: Diagnostic[] = [];
  for (const tool of tools) {
    const { id, deterministic, actions, caps, source } = tool;
    const isRun = actions.length === 0 ? deterministic : actions.some((one) => one.deterministic);
    const read = isRun ? readInputs(caps.filesystem.read) : undefined;
    if (!read || !('why' in read)) continue;
    found.push({
      file: label(tool),
      ...(await locateKey(source.folder, source.file, ['caps', 'filesystem', 'read'])),
      code: 'deterministic.not_replayed',
      severity: 'warning',
      message: `"${id}" is not replayed: ${read.why}, which is not looked at before every call`,
      hint: 'name only the folders and files that it needs',
    });
  }
  return found;
}
