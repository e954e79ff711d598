// Owns: which adapter reaches which kind of pack.
// Refuses: to know what any of them does.
import { resolve } from 'node:path';
import { combineAdapters } from '../../adapters/combined.ts';
import type { SecretsFor } from '../../adapters/config-filling.ts';
import { createHttpAdapter } from '../../adapters/http/http.ts';
import { createMcpAdapter } from '../../adapters/mcp/mcp.ts';
import { createProcessAdapter } from '../../adapters/process/process.ts';
import { createStdioAdapter } from '../../adapters/stdio/stdio.ts';
import { toErrorEntry } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Installation } from '../../contract/manifest.ts';
import type { Runtime } from '../../contract/runtime.ts';
import { createCodeCopies } from '../../loader/code/code-copies.ts';
import type { NpxSite } from '../../loader/code/npx-package.ts';
import { createReadInputs } from '../../loader/code/read-inputs.ts';
import { type ServerConfig, takeServer } from '../../loader/code/server-code.ts';
import type { TakenServer } from '../../loader/code/taken-server.ts';
import { applyLock, checkFrozen } from '../../loader/lock/apply-lock.ts';
import { readLockFile } from '../../loader/lock/lock-file.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { watchFolders } from '../../loader/watch-folders.ts';
import { createHealthMonitor, systemTiming } from '../../runtime/health/create-health-monitor.ts';
import { openCredentials } from '../open-credentials.ts';
import { createHealthMemory } from './health-memory.ts';
import { createKnownCredentials } from './known-credentials.ts';
import { folderOpener } from './open-folder.ts';
import { createPacks, type PackLock, type WatchedPacks } from './open-packs.ts';
import { serverOpener } from './open-server.ts';
import { toolpackOpener } from './open-toolpack-folder.ts';
import type { PackSite } from './pack-site.ts';
import { packStates } from './pack-states.ts';
import { createServerLogs } from './server-logs.ts';
import { serverNeeds } from './server-needs.ts';
import { watchPacks } from './watch-packs.ts';

export function createDefaultPacks(site: PackSite): WatchedPacks {
  const { runtime, root, store, onWarning = () => {}, fresh = false, living = false, lock = 'hold' } = site;
  const { handlesFor } = runtime.installations;
  const schemas = createSchemaCompiler();
  const credentials = openCredentials({ workspace: root, users: async () => store.credentials });
  const secretsFor: SecretsFor = async ({ config }) =>
    (await credentials.resolve(serverNeeds(config), '')).secrets;
  const code = createCodeCopies(`${root}/.haft`);
  const readInputs = createReadInputs(root);
  const server = {
    root,
    schemas,
    cacheFolder: `${root}/.haft/cache/packs`,
    onWarning,
    fresh,
    living,
    credentials,
  };
  const servers = createServers({ root, code, install: fresh });
  const logs = createServerLogs(`${root}/.haft`, credentials);
  const handles = { handlesFor, startFor: servers.startFor, logFor: logs.logFor };
  const yaml = combineAdapters('yaml', [
    createProcessAdapter({ handlesFor, copyOf: (at, digest) => code.use({ at }, digest), readInputs }),
    createHttpAdapter({ handlesFor }),
  ]);
  const health = createHealthMonitor({
    timing: systemTiming(site.clock),
    events: site.events,
    memory: createHealthMemory(root),
  });
  const known = createKnownCredentials({
    credentials,
    sessions: runtime.sessions,
    changed: () => site.events.emit({ type: 'EventMessage', event: 'ToolsChanged', data: {} }),
  });
  const packs = createPacks({
    runtime: { installations: watchPacks(runtime, { monitor: health, credentials: known }) },
    onWarning,
    onBroken: site.onBroken,
    retooled: () => settle(),
    ...(lock === 'ignore' ? {} : { lock: () => lockOf(root, lock === 'frozen') }),
    openers: {
      mcp: serverOpener({ ...server, ...servers, adapter: createMcpAdapter({ ...handles, secretsFor }) }),
      stdio: serverOpener({
        ...server,
        ...servers,
        adapter: createStdioAdapter({ ...handles, secretsFor, readInputs }),
      }),
      path: toolpackOpener(
        { root, runtime, schemas, cacheFolder: `${root}/.haft/cache/toolpacks` },
        folderOpener({ ...server, root, code, adapter: yaml, sessions: runtime.sessions }),
      ),
    },
  });
  const watchAgain = () =>
    follower?.set(
      packs.folders().map((path) => resolve(root, path)),
      runtime.installations.all().flatMap(({ beside = [] }) => beside),
    );
  /** What opening them means for what is around them. */
  const settle = async () => {
    await known.refresh();
    await readyToList(runtime);
    await site.opened();
    await site.retooled?.();
    watchAgain();
  };
  const refresh = async () => {
    // First, so that what comes while the folders are read is told.
    watchAgain();
    await site.trusted();
    await packs.refresh();
    await settle();
  };
  const follower = living
    ? watchFolders(
        () =>
          void refresh().catch((thrown) =>
            onWarning(`The packs stay as they were: ${toErrorEntry(thrown).message}`),
          ),
        (fact) => onWarning(`Edits in the folders of packs are taken up by the next start alone: ${fact}`),
      )
    : undefined;
  if (living) {
    health.start();
    known.watch();
  }
  return {
    ...packs,
    async follow(policy) {
      await packs.follow(policy);
      await settle();
    },
    refresh,
    states: () => packStates(runtime, health, packs.problems()),
    health,
    async close() {
      follower?.close();
      known.close();
      await packs.close();
      await health.close();
      await logs.flush();
    },
  };
}

/** What the servers of this host are made of, by installation: its digest is of that, too. */
function createServers(site: NpxSite) {
  const taken = new Map<string, TakenServer>();
  const keyOf = ({ name, digest }: Installation) => `${name} ${digest}`;
  return {
    takeCode: (config: JsonObject) => takeServer(config as unknown as ServerConfig, site),
    started: (installation: Installation, server: TakenServer): void =>
      void taken.set(keyOf(installation), server),
    startFor: (installation: Installation) => taken.get(keyOf(installation))?.start() ?? { copies: [] },
  };
}

/** So that a listing can say at once what policy does not grant. */
async function readyToList({ installations, policy }: Runtime): Promise<void> {
  const site = { place: (path: string) => path };
  const needs = installations
    .all()
    .flatMap(({ installation, adapter, tools }) =>
      tools.flatMap((tool) => adapter.needs?.({ installation, tool, site }) ?? []),
    );
  await policy.current.ready?.(needs);
}

function lockOf(root: string, frozen: boolean): PackLock {
  const accepted = readLockFile(root);
  return {
    check: (packs) => (frozen ? checkFrozen(packs, accepted) : undefined),
    apply: (pack) => applyLock(pack, accepted),
  };
}
