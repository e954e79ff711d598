// Owns: the list of sources of packs, and which of them takes an entry.
// Refuses: to load an adapter before an entry of its kind is opened.
import type { PackEntry, PackSource } from '../pack-source.ts';
import { serverSource } from './server.ts';
import { toolYamlFolder } from './tool-yaml-folder.ts';
import { toolpackFolder } from './toolpack-folder.ts';

export const PACK_SOURCES: readonly PackSource[] = Object.freeze([
  toolpackFolder,
  toolYamlFolder,
  serverSource('mcp', async () => (await import('../../../adapters/mcp/mcp.ts')).createMcpAdapter),
  serverSource('stdio', async () => (await import('../../../adapters/stdio/stdio.ts')).createStdioAdapter),
]);

/** `root` is where haft.yaml lies. */
export function sourceOf(entry: PackEntry, root: string): PackSource {
  const source = PACK_SOURCES.find(
    ({ key, matches }) => key === entry.kind && (matches?.(entry, root) ?? true),
  );
  if (source) return source;
  throw new Error(`no source takes packs of kind ${entry.kind}`);
}
