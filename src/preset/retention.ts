// Owns: cleaning up a workspace's state as its policy says: audit into segments, undo given up, objects swept, the file made smaller.
// Refuses: artifacts; `haft artifacts gc` lets go of those, when a person asks.
import { type ArtifactStore, SHORTEST_LEASE_MS } from '../contract/artifacts.ts';
import { fail } from '../contract/errors.ts';
import type { CleanUpOptions, CleanUpReport } from '../contract/operation-handles.ts';
import { POLICY_DEFAULTS, type PolicyFile } from '../contract/policy.ts';
import type { AuditKeep, RetentionStore, UndoKeep } from '../contract/store.ts';

const DAY_MS = 86_400_000;

export interface CleanUpSite {
  readonly retention: RetentionStore;
  artifacts(): Promise<ArtifactStore>;
  /** The workspace's own policy; undefined where it is not trusted. */
  policy(): PolicyFile | undefined;
  readonly clock: { now(): number };
}

export interface Keeps {
  readonly audit: AuditKeep;
  readonly undo: UndoKeep;
}

export function keepsOf({ audit, undo }: PolicyFile, now: number): Keeps {
  const rows = { ...POLICY_DEFAULTS.auditKeep, ...audit?.keep };
  const calls = { ...POLICY_DEFAULTS.undoKeep, ...undo?.keep };
  return {
    audit: { rows: rows.rows, since: now - rows.days * DAY_MS },
    undo: { bytes: calls.bytes, since: now - calls.days * DAY_MS },
  };
}

/** What a person asked for: calls of others may wait for the file to be written anew. */
const ANY_SIZE = Number.POSITIVE_INFINITY;

export async function cleanUp(site: CleanUpSite, options: CleanUpOptions = {}): Promise<CleanUpReport> {
  const done: Done = {
    archived: { rows: 0 },
    undo: { calls: 0, bytes: 0 },
    objects: { objects: 0, bytes: 0 },
    shrunk: options.dryRun ? null : 0,
  };
  try {
    await cleanUpTo(done, site, options);
  } finally {
    const { archived, undo, objects } = done;
    if (!options.dryRun && archived.rows + undo.calls + objects.objects > 0) await options.onGone?.(done);
  }
  return done;
}

type Done = { -readonly [field in keyof CleanUpReport]: CleanUpReport[field] };

async function cleanUpTo(done: Done, site: CleanUpSite, options: CleanUpOptions): Promise<void> {
  const { dryRun = false, signal, onProgress = () => {} } = options;
  const { retention, clock, policy } = site;
  const file = policy();
  if (!file)
    throw fail(
      'policy.untrusted',
      'Cannot clean up: the policy of this workspace, which says what is kept, is not trusted on this machine; run haft trust',
    );
  const keeps = keepsOf(file, clock.now());

  const due = await retention.archivable(keeps.audit);
  done.archived = { rows: dryRun ? due : 0 };
  while (!dryRun) {
    signal?.throwIfAborted();
    const moved = await retention.archive(keeps.audit);
    if (moved === 0) break;
    done.archived = { rows: done.archived.rows + moved };
    onProgress(`archived ${done.archived.rows} of ${due} rows`);
  }
  signal?.throwIfAborted();
  const undo = await retention.giveUp(keeps.undo, { dryRun });
  done.undo = { calls: undo.calls, bytes: undo.bytes };
  if (undo.calls > 0) onProgress(`gave up undo of ${undo.calls} calls`);
  signal?.throwIfAborted();
  const { removed } = await (await site.artifacts()).sweep({
    unusedForMs: SHORTEST_LEASE_MS,
    keepArtifacts: true,
    dryRun,
    undoAfter: undo.upTo,
    ...(signal ? { signal } : {}),
  });
  done.objects = removed;
  onProgress(`removed ${removed.objects} objects`);
  if (!dryRun) done.shrunk = await retention.shrink({ largest: ANY_SIZE });
  // Else whoever measures what is left takes the log of all this for growth.
  await retention.fold();
}
