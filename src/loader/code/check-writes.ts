// Owns: telling the author of a pack which of its tools can never be called, because they would write the whole workspace.
// Refuses: to call that an error: the pack opens, and its other tools work.
import { posix } from 'node:path';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';
import { locateKey } from '../tool-yaml/locate-key.ts';

/** `label` is what diagnostics call the tool's file. */
export async function checkWrites(
  tools: readonly YamlTool[],
  label: (tool: YamlTool) => string,
): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const tool of tools) {
    const { id, caps, source } = tool;
    if (!caps.filesystem.write.some((path) => /^\.\/?$/.test(posix.normalize(path)))) continue;
    found.push({
      file: label(tool),
      ...(await locateKey(source.folder, source.file, ['caps', 'filesystem', 'write'])),
      code: 'caps.whole_workspace',
      severity: 'warning',
      message: `"${id}" is disabled wherever it is installed: it would write the whole workspace, which holds policy and Haft's own state`,
      hint: 'name only the folders and files that it needs',
    });
  }
  return found;
}
