// Owns: which adapter reaches which kind of pack.
// Refuses: to know what any of them does.
import { createMcpAdapter } from '../../adapters/mcp/mcp.ts';
import { createStdioAdapter } from '../../adapters/stdio/stdio.ts';
import { fail } from '../../contract/errors.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { createPacks, type Packs } from './open-packs.ts';
import { serverOpener } from './open-server.ts';
import type { PackSite } from './packs-on-demand.ts';

export function createDefaultPacks({ runtime, root, onWarning = () => {} }: PackSite): Packs {
  const { handlesFor } = runtime.installations;
  const schemas = createSchemaCompiler();
  const server = { schemas, cacheFolder: `${root}/.haft/cache/packs`, onWarning };
  return createPacks({
    runtime,
    onWarning,
    openers: {
      mcp: serverOpener({ ...server, adapter: createMcpAdapter({ handlesFor }) }),
      stdio: serverOpener({ ...server, adapter: createStdioAdapter({ handlesFor }) }),
      path: async ({ path }) => {
        throw fail('pack.invalid', `Cannot take the pack "${path}": not wired yet`);
      },
    },
  });
}
