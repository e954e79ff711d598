// Owns: what cleaning up asks of the SQLite store, put together: segments, undo, the size of the file, and who does it.
// Refuses: to know for how long anything is kept, and to load what does it before somebody cleans up.
import { statSync } from 'node:fs';
import type { RetentionStore, StoreSizes } from '../../contract/store.ts';
import { isAlive } from '../process-identity.ts';
import type { ArchiveSite } from './archive-audit.ts';
import { readMark, readText, writeText } from './retention-marks.ts';

const SEGMENTS = `SELECT count(*) AS segments, coalesce(sum(size), 0) AS segmentBytes,
  coalesce(max(last), 0) AS archivedRows FROM audit_segments`;
const NEWEST = 'SELECT coalesce(max(seq), 0) AS newest FROM audit';

/** `file` is the database. */
export function createRetention(
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
