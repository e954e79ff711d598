// Owns: Haft and the reference file server, side by side on one workspace.
// Refuses: to stay: closing ends every server.
import { makeWorkspace } from './fixtures.ts';
import { type McpClient, openMcp } from './mcp-client.ts';
import { SERVERS } from './product.ts';

export interface FileServers {
  readonly workspace: string;
  readonly haft: McpClient;
  readonly peer: McpClient;
  /** The peer with fsync added to its writes. */
  readonly syncingPeer: McpClient;
  close(): Promise<void>;
}

export async function openFileServers(
  fill: (workspace: string) => void,
  folder?: string,
): Promise<FileServers> {
  const workspace = makeWorkspace(folder);
  fill(workspace);
  const haft = openMcp(SERVERS.haft(workspace));
  const peer = openMcp(SERVERS.filesystem(workspace));
  const syncingPeer = openMcp(SERVERS.filesystemWithSync(workspace));
  const all = [haft, peer, syncingPeer];
  const close = async () => {
    await Promise.all(all.map((server) => server.close()));
  };
  await Promise.all(all.map((server) => server.initialize()));
  return { workspace, haft, peer, syncingPeer, close };
}
