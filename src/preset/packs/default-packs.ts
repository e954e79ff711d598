// Owns: which adapter reaches which kind of pack.
// Refuses: to know what any of them does.
import { combineAdapters } from '../../adapters/combined.ts';
import { createHttpAdapter } from '../../adapters/http/http.ts';
import { createMcpAdapter } from '../../adapters/mcp/mcp.ts';
import { createProcessAdapter } from '../../adapters/process/process.ts';
import { createStdioAdapter } from '../../adapters/stdio/stdio.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { openCredentials } from '../open-credentials.ts';
import { folderOpener } from './open-folder.ts';
import { createPacks, type Packs } from './open-packs.ts';
import { serverOpener } from './open-server.ts';
import type { PackSite } from './packs-on-demand.ts';

export function createDefaultPacks({ runtime, root, store, onWarning = () => {} }: PackSite): Packs {
  const { handlesFor } = runtime.installations;
  const schemas = createSchemaCompiler();
  const cacheFolder = `${root}/.haft/cache/packs`;
  const server = { schemas, cacheFolder, onWarning };
  const yaml = combineAdapters('yaml', [
    createProcessAdapter({ handlesFor }),
    createHttpAdapter({ handlesFor }),
  ]);
  const credentials = openCredentials({ workspace: root, users: async () => store.credentials });
  return createPacks({
    runtime,
    onWarning,
    openers: {
      mcp: serverOpener({ ...server, adapter: createMcpAdapter({ handlesFor }) }),
      stdio: serverOpener({ ...server, adapter: createStdioAdapter({ handlesFor }) }),
      path: folderOpener({ ...server, root, adapter: yaml, credentials, sessions: runtime.sessions }),
    },
  });
}
