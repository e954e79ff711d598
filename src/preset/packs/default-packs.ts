// Owns: which adapter reaches which kind of pack.
// Refuses: to know what any of them does.
import { combineAdapters } from '../../adapters/combined.ts';
import type { SecretsFor } from '../../adapters/config-filling.ts';
import { createHttpAdapter } from '../../adapters/http/http.ts';
import { createMcpAdapter } from '../../adapters/mcp/mcp.ts';
import { createProcessAdapter } from '../../adapters/process/process.ts';
import { createStdioAdapter } from '../../adapters/stdio/stdio.ts';
import { applyLock, checkFrozen } from '../../loader/lock/apply-lock.ts';
import { readLockFile } from '../../loader/lock/lock-file.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { createHealthMonitor } from '../../runtime/health/create-health-monitor.ts';
import { systemTiming } from '../../runtime/health/timing.ts';
import { openCredentials } from '../open-credentials.ts';
import { folderOpener } from './open-folder.ts';
import { createPacks, type PackLock, type Packs } from './open-packs.ts';
import { serverOpener } from './open-server.ts';
import { toolpackOpener } from './open-toolpack-folder.ts';
import type { PackSite } from './pack-site.ts';
import { serverNeeds } from './server-needs.ts';
import { watchPacks } from './watch-packs.ts';

export function createDefaultPacks(site: PackSite): Packs {
  const { runtime, root, store, onWarning = () => {}, fresh = false, living = false, lock = 'hold' } = site;
  const { handlesFor } = runtime.installations;
  const schemas = createSchemaCompiler();
  const credentials = openCredentials({ workspace: root, users: async () => store.credentials });
  const secretsFor: SecretsFor = async ({ config }) =>
    (await credentials.resolve(serverNeeds(config), '')).secrets;
  const server = { schemas, cacheFolder: `${root}/.haft/cache/packs`, onWarning, fresh, living, credentials };
  const yaml = combineAdapters('yaml', [
    createProcessAdapter({ handlesFor }),
    createHttpAdapter({ handlesFor }),
  ]);
  const health = createHealthMonitor({ timing: systemTiming(site.clock), events: site.events });
  const packs = createPacks({
    runtime: { installations: watchPacks(runtime, health) },
    onWarning,
    ...(lock === 'ignore' ? {} : { lock: () => lockOf(root, lock === 'frozen') }),
    openers: {
      mcp: serverOpener({ ...server, adapter: createMcpAdapter({ handlesFor, secretsFor }) }),
      stdio: serverOpener({ ...server, adapter: createStdioAdapter({ handlesFor, secretsFor }) }),
      path: toolpackOpener(
        { root, runtime, schemas, cacheFolder: `${root}/.haft/cache/toolpacks` },
        folderOpener({ ...server, root, adapter: yaml, sessions: runtime.sessions }),
      ),
    },
  });
  if (living) health.start();
  return {
    ...packs,
    async close() {
      await packs.close();
      await health.close();
    },
  };
}

function lockOf(root: string, frozen: boolean): PackLock {
  const accepted = readLockFile(root);
  return {
    check: (packs) => (frozen ? checkFrozen(packs, accepted) : undefined),
    apply: (pack) => applyLock(pack, accepted),
  };
}
