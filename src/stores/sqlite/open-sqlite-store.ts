// Owns: opening the embedded store, `.haft/haft.db`, and putting its parts together, also those that clean up.
// Refuses: a state folder that cannot be written or is not a folder (a store that cannot record must not open), and to load what cleans up before somebody does.
import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { lazyMethods } from '../../base/once.ts';
import { fail } from '../../contract/errors.ts';
import type { RunStore } from '../../contract/run-store.ts';
import type {
  ApprovalStore,
  AuditProgress,
  RetentionStore,
  Store,
  StoreSizes,
} from '../../contract/store.ts';
import type { ObjectUses, SmallObjects } from '../object-rows.ts';
import { isAlive } from '../process-identity.ts';
import { syncFolderSync } from '../state-files.ts';
import { toFailure } from '../store-failure.ts';
import type { ArchiveSite } from './archive-audit.ts';
import { createAudit } from './audit.ts';
import { createAuditSegments } from './audit-segments.ts';
import { createAuditWriter, createHeadWatch, createUsageLedger } from './audit-writer.ts';
import { type Connection, connect, openSchema, type Patience, untilFree } from './connection.ts';
import { createCheckpointer, createGroupCommit, createWalSync } from './group-commit.ts';
import { createCredentialRows, createInstallations, createToolNames } from './installations.ts';
import { createLocks } from './locks.ts';
import { createArtifactRows, createObjectUses, createSmallObjects } from './object-rows.ts';
import { readMark, readText, writeText } from './retention-marks.ts';
import { createSessions } from './sessions.ts';

export interface SqliteStoreOptions extends Partial<Patience> {
  /** The state folder, `.haft` in the workspace; made when it is not there. */
  readonly folder: string;
  /** This process, as `processIdentity()` names it. */
  readonly process: string;
  readonly clock: { now(): number };
  /** Told what was not as it should be and was put right. */
  readonly onWarning?: (message: string) => void;
  /** Rows of one segment of the audit. */
  readonly segmentRows?: number;
  /** Told how far the audit has come, within seconds of what this process appended and when it closes. */
  readonly onProgress?: (progress: AuditProgress) => void;
}

export interface SqliteStore extends Store {
  /** For `openObjectStore`. */
  readonly smallObjects: SmallObjects;
  readonly objectUses: ObjectUses;
}

const PATIENCE_MS = 10_000;

/** About 3 MB of rows, and 300 KB of a file. */
const SEGMENT_ROWS = 4096;

export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { folder, clock, patienceMs = PATIENCE_MS } = options;
  let connection: Connection | undefined;
  try {
    prepareFolder(folder, options.onWarning);
    const opened = connect(join(folder, 'haft.db'), { patienceMs });
    connection = opened;
    if (!(await untilFree(() => openSchema(opened), patienceMs))) {
      const { migrateSchema } = await import('./migrate-schema.ts');
      await untilFree(() => migrateSchema(opened), patienceMs);
    }
  } catch (thrown) {
    connection?.close();
    throw toFailure(thrown, `Cannot open the state in "${basename(folder)}"`);
  }

  const tables = connection;
  const walSync = createWalSync(folder);
  const ledger = createUsageLedger(connection, options.process);
  const writer = createAuditWriter(connection, ledger);
  const checkpointer = createCheckpointer(join(folder, 'haft.db'));
  const segments = createAuditSegments(connection, join(folder, 'audit'));
  const watch = options.onProgress && createHeadWatch(connection, writer, options.onProgress, segments);
  const parts = [writer, ledger, ...(watch ? [watch] : [])];
  const group = createGroupCommit({ connection, walSync, checkpointer, parts, patienceMs });
  const locks = createLocks(connection, group, options.process);
  const closeAll = async (opened: Connection): Promise<void> => {
    await locks.releaseAll();
    await group.drain();
    watch?.close();
    await checkpointer.close();
    walSync.close();
    opened.close();
  };
  const home = homeOf(join(folder, 'haft.db'));
  let closed: Promise<void> | undefined;
  return {
    audit: createAudit({ connection, group, writer, segments, process: options.process }),
    approvals: lazyMethods<ApprovalStore>(APPROVAL_METHODS, async () =>
      (await import('./approvals.ts')).createApprovals(tables, group, clock, home),
    ),
    sessions: createSessions(connection, group, ledger),
    locks,
    credentials: createCredentialRows(connection, group),
    installations: createInstallations(connection, group, home),
    toolNames: createToolNames(connection, group),
    runs: lazyMethods<RunStore>(RUN_METHODS, async () =>
      (await import('./run-store.ts')).createRunStore(tables, group, options.process),
    ),
    artifacts: createArtifactRows(connection, group, clock),
    smallObjects: createSmallObjects(connection, group, clock),
    objectUses: createObjectUses(connection, group, clock),
    retention: createRetention({
      connection,
      group,
      segments,
      process: options.process,
      segmentRows: options.segmentRows ?? SEGMENT_ROWS,
      file: join(folder, 'haft.db'),
    }),
    close() {
      closed ??= closeAll(connection);
      return closed;
    },
  };
}

const APPROVAL_METHODS = {
  request: true,
  consume: true,
  giveBack: true,
  decide: true,
  get: true,
  list: true,
} as const;

const RUN_METHODS = {
  begin: true,
  move: true,
  finish: true,
  checkpoint: true,
  adopt: true,
  abandoned: true,
  requestCancel: true,
  keep: true,
  get: true,
  attempt: true,
  attempts: true,
  list: true,
} as const;

/** A copy can bring the rows along, but not these. */
function homeOf(file: string): string {
  const { dev, ino, birthtimeNs } = statSync(file, { bigint: true });
  return `${dev}:${ino}:${birthtimeNs}`;
}

function prepareFolder(folder: string, onWarning: SqliteStoreOptions['onWarning']): void {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (!stat) makeFolder(folder);
  else if (!stat.isDirectory())
    throw fail('store.unwritable', `Cannot open the state: "${basename(folder)}" is not a folder`);
  else if ((stat.mode & 0o077) !== 0) {
    chmodSync(folder, 0o700);
    onWarning?.(`"${basename(folder)}" was open to other users; now it is open to its owner only`);
  }
  refuseLinks(folder);
  const ignore = join(folder, '.gitignore');
  // Empty is what a disk that was full at the first start left.
  if (!lstatSync(ignore, { throwIfNoEntry: false })?.size) writeFileSync(ignore, '*\n');
}

/** A clone may bring such a folder along: what is written through a link would land where tools can read it, or outside. */
function refuseLinks(folder: string): void {
  const link = readdirSync(folder, { withFileTypes: true }).find((entry) => entry.isSymbolicLink());
  if (!link) return;
  throw fail(
    'store.unwritable',
    `Cannot open the state: "${basename(folder)}/${link.name}" is a link, and Haft made none; remove it`,
  );
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (thrown) {
    // Another process was faster.
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
  syncFolderSync(dirname(folder));
}

const SEGMENTS = `SELECT count(*) AS segments, coalesce(sum(size), 0) AS segmentBytes,
  coalesce(max(last), 0) AS archivedRows FROM audit_segments`;
const NEWEST = 'SELECT coalesce(max(seq), 0) AS newest FROM audit';

/** `file` is the database. */
function createRetention(
  parts: Omit<ArchiveSite, 'listPreImages'> & { readonly file: string },
): RetentionStore {
  const { connection, group, process, file } = parts;
  const loadUndo = async () => {
    const { createUndoRetention } = await import('./undo-retention.ts');
    return createUndoRetention(connection, group);
  };
  const site: ArchiveSite = {
    ...parts,
    listPreImages: async (upTo, slice) => (await loadUndo()).listPreImages(upTo, slice),
  };
  return {
    async archivable(keep) {
      const { countArchivable } = await import('./archive-audit.ts');
      await group.settled();
      return connection.read(() => countArchivable(site, keep));
    },
    async archive(keep) {
      const { archiveSegments } = await import('./archive-audit.ts');
      return archiveSegments(site, keep);
    },
    giveUp: async (keep, { dryRun = false } = {}) => (await loadUndo()).giveUp(keep, dryRun),
    givenUp: () => connection.read(() => readMark(connection, 'given_up')),
    async shrink({ largest }) {
      const { shrinkDatabase } = await import('./archive-audit.ts');
      await group.settled();
      return shrinkDatabase(file, connection, largest);
    },
    async fold() {
      const { foldLog } = await import('./archive-audit.ts');
      await group.settled();
      await foldLog(file);
    },
    async sizes() {
      const { pagesOf } = await import('./archive-audit.ts');
      return connection.read((): StoreSizes => {
        const archived = connection.sql(SEGMENTS).get() as {
          segments: number;
          segmentBytes: number;
          archivedRows: number;
        };
        const newest = connection.sql(NEWEST).get()?.newest as number;
        const database = sizeOf(file) + sizeOf(`${file}-wal`) + sizeOf(`${file}-shm`);
        return {
          database,
          free: pagesOf(connection).free,
          rows: Math.max(0, newest - archived.archivedRows),
          ...archived,
        };
      });
    },
    claim: () =>
      group.enqueue(() => {
        const holder = readText(connection, HOLDER);
        if (holder !== undefined && holder !== process && isAlive(holder)) return false;
        if (holder !== process) writeText(connection, HOLDER, process);
        return true;
      }),
    release: () =>
      group.enqueue(() => {
        if (readText(connection, HOLDER) === process) writeText(connection, HOLDER, undefined);
      }),
  };
}

const HOLDER = 'holder';
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
