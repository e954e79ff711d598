// Owns: making what is committed survive a power cut, by syncing the write-ahead log in the thread pool.
// Refuses: to sync on the event loop, and to go on after a sync that failed: nobody knows what the disk then holds.
import { closeSync, fdatasync, fstatSync, fsync, openSync } from 'node:fs';
import { type Failure, fail } from '../../contract/errors.ts';
import { toFailure } from '../store-failure.ts';

/*
 * Why this makes a commit durable. The connection runs WAL with synchronous = NORMAL: COMMIT writes the frames of
 * the transaction to haft.db-wal (so every process sees them, and they survive kill -9), but syncs nothing.
 *
 *  1. fdatasync on any descriptor of an inode flushes the inode's dirty pages and the size needed to read them.
 *     It starts after COMMIT returned, so it covers the transaction's frames, and, the log being sequential and
 *     chained by checksums, all frames before them: recovery replays the log up to and including this commit.
 *  2. A checkpoint (ours or another process's, both NORMAL) may move frames to haft.db at any time. SQLite then syncs
 *     the log before it writes haft.db, and haft.db before it marks the frames as moved; only after that may a
 *     writer start the log over. So a row is, at every moment, in a synced database or in the log that we sync.
 *  3. Starting the log over rewrites its header, with new salts, and NORMAL syncs that header before the first frame.
 *  4. The log's inode stays the same while our connection is open: only the last connection to close deletes the log,
 *     and none is the last while ours holds its lock. The descriptor is opened after the first commit, so it is
 *     that inode; its name is made durable by one sync of the folder. Should somebody delete the state folder,
 *     the link count falls to zero, and the commit is refused instead of confirmed.
 *  5. A failed fdatasync may leave pages marked clean that never reached the disk. Trying again would lie, so
 *     everything that waits fails, and the store answers nothing but failures from then on.
 *
 * Opening and closing this descriptor is safe: SQLite keeps its POSIX locks on haft.db and haft.db-shm, which a process
 * loses when it closes *any* descriptor of those two. Never open them here.
 */
export interface WalSync {
  /** Calls back once everything committed before this call is on the disk. Calls that wait share one sync. */
  after(done: (failure: unknown) => void): void;
  close(): void;
}

type Done = (failure: unknown) => void;

export function createWalSync(folder: string): WalSync {
  let log: number | undefined;
  let folderSynced = false;
  let running = false;
  let waiting: Done[] = [];

  const start = (): void => {
    running = true;
    const covered = waiting;
    waiting = [];
    const end = (failure: unknown): void => {
      running = false;
      if (waiting.length > 0) start();
      for (const done of covered) done(failure);
    };
    try {
      log ??= openSync(`${folder}/haft.db-wal`, 'r');
      if (fstatSync(log).nlink === 0) return end(removed());
      fdatasync(log, (error) => {
        if (error || folderSynced) return end(error ? toFailure(error, ACTION) : undefined);
        syncFolder(folder, (folderError) => {
          folderSynced = !folderError;
          end(folderError ? toFailure(folderError, ACTION) : undefined);
        });
      });
    } catch (thrown) {
      end(toFailure(thrown, ACTION));
    }
  };

  return {
    after(done) {
      waiting.push(done);
      if (!running) start();
    },
    close() {
      if (log !== undefined) closeSync(log);
      log = undefined;
    },
  };
}

const ACTION = 'Cannot make the audit durable';

function removed(): Failure {
  return fail(
    'store.unwritable',
    `${ACTION}: the state folder was deleted while Haft was running; restart it`,
  );
}

function syncFolder(folder: string, done: (error: Error | null) => void): void {
  const descriptor = openSync(folder, 'r');
  fsync(descriptor, (error) => {
    closeSync(descriptor);
    done(error);
  });
}
