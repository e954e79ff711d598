// Owns: the packs of a host with all that is around them: health, credentials, logs, folders that are followed.
// Refuses: to know how any of them is reached; its source does.
import { resolve } from 'node:path';
import { toErrorEntry } from '../../contract/errors.ts';
import type { MaybePromise } from '../../contract/json.ts';
import type { PolicyFile } from '../../contract/policy.ts';
import type { Runtime } from '../../contract/runtime.ts';
import { createCodeCopies } from '../../loader/code/code-copies.ts';
import { createReadInputs } from '../../loader/code/read-inputs.ts';
import { readLockFile } from '../../loader/lock/lock-file.ts';
import { applyLock, checkFrozen } from '../../loader/lock/pin-tools.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { watchFolders } from '../../loader/watch-files.ts';
import { createHealthMonitor, systemTiming } from '../../runtime/health/create-health-monitor.ts';
import { openCredentials } from '../open-credentials.ts';
import { createKnownCredentials, createServerLogs } from './known-credentials.ts';
import { createPacks, type PackLock, type WatchedPacks } from './open-packs.ts';
import { installedPacks } from './pack-entries.ts';
import type { PackSite } from './pack-site.ts';
import type { OpenEntry, PackParts, PackSource } from './pack-source.ts';
import { sourceOf } from './sources/index.ts';
import { createHealthMemory, packStates, watchPacks } from './watch-packs.ts';

export function createDefaultPacks(site: PackSite): WatchedPacks {
  const { runtime, root, store, onWarning = () => {}, fresh = false, living = false, lock = 'hold' } = site;
  const credentials = openCredentials({ workspace: root, users: async () => store.credentials });
  const logs = createServerLogs(`${root}/.haft`, credentials);
  const parts: PackParts = {
    root,
    runtime,
    schemas: createSchemaCompiler(),
    credentials,
    code: createCodeCopies(`${root}/.haft`),
    readInputs: createReadInputs(root),
    logFor: logs.logFor,
    onWarning,
    fresh,
    living,
  };
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
    open: openBySource(parts),
  });
  /** Those of haft.yaml, and those that were added beside it. */
  const packsOf = async ({ packs: written = [] }: Pick<PolicyFile, 'packs'>) => {
    if (site.packs || site.below) return site.packs ?? written;
    return installedPacks(written, await store.installations.list());
  };
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
      await packs.follow({ packs: await packsOf(policy) });
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

/** Each source is opened once, when the first entry of it is. */
function openBySource(parts: PackParts): OpenEntry {
  const opened = new Map<PackSource, MaybePromise<OpenEntry>>();
  return async (entry, follow) => {
    const source = sourceOf(entry, parts.root);
    const open = opened.get(source) ?? source.open(parts);
    opened.set(source, open);
    return (await open)(entry, follow);
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
