// Owns: the one queue of everything that writes: each group is one transaction, one sync of the log and, now and then, a checkpoint in a thread.
// Refuses: to answer before the commit, to wait on the event loop for the disk or another process, and to go on after a lost sync.
import { closeSync, fdatasync, fstatSync, openSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import { syncFolder } from '../state-files.ts';
import { isBusy, toFailure } from '../store-failure.ts';
import { backoff, busy, type Connection, type Patience } from './connection.ts';

export interface GroupCommit {
  /**
   * Runs `work` inside the next transaction and answers what it returned, once that is committed and, when
   * `durable`, on the disk. Works run in the order in which they came. A failure of the error table that `work`
   * throws is its own and must leave nothing half written; anything else undoes the whole group.
   * `bytes` is about how much it writes. `alone`: only what is queued in the same breath joins it.
   */
  enqueue<T>(work: () => T, durable?: boolean, bytes?: number, alone?: boolean): Promise<T>;
  /** The same for work that nobody waits for: it joins the next group, and makes one of its own within `SOON_MS`. */
  enqueueSoon<T>(work: () => T): Promise<T>;
  /** Resolves once everything that was queued before is committed or refused. */
  settled(): Promise<void> | undefined;
  /** False once the store is closed or the disk has failed: whatever comes now is refused. */
  readonly takesWork: boolean;
  /** Resolves when nothing is queued or being synced any more; from the call on, nothing new is taken. */
  drain(): Promise<void>;
}

/** Keeps something for the length of a transaction: told when one begins and just before it is committed. */
export interface GroupPart {
  begin(): void;
  end?(): void;
}

interface Job {
  readonly work: () => unknown;
  readonly durable: boolean;
  readonly bytes: number;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
  value?: unknown;
  refusal?: unknown;
}

/** Bounds how long one transaction holds the event loop and the database. */
const LARGEST_GROUP = 512;

/** How long work waits for company, and how much of it is company enough. */
const SOON_MS = 10;
const SOON_GROUP = 64;

/** A row of the audit. */
const USUAL_BYTES = 800;

interface GroupCommitParts extends Patience {
  readonly connection: Connection;
  readonly walSync: WalSync;
  readonly checkpointer: Pick<Checkpointer, 'committed'>;
  readonly parts: readonly GroupPart[];
}

export function createGroupCommit(options: GroupCommitParts): GroupCommit {
  const { connection, walSync, checkpointer, parts, patienceMs } = options;
  const queue: Job[] = [];
  let scheduled = false;
  let soon: NodeJS.Timeout | undefined;
  let unsettled = 0;
  let tries = 0;
  let busySince: number | undefined;
  let refusal: (() => Failure) | undefined;
  let drained: (() => void) | undefined;

  const settle = (job: Job, failure?: unknown): void => {
    const reason = failure ?? job.refusal;
    if (reason === undefined) job.resolve(job.value as never);
    else job.reject(reason);
    unsettled--;
    if (unsettled === 0) drained?.();
  };
  const refuse = (jobs: readonly Job[], failure: unknown): void => {
    for (const job of jobs) settle(job, failure);
  };
  const takeAll = (): Job[] => queue.splice(0);

  const schedule = (alone = false): void => {
    if (scheduled) return;
    scheduled = true;
    // V8 may collect garbage in a turn of the event loop, which a process that lives for one call need not wait for.
    if (alone) queueMicrotask(flush);
    else setImmediate(flush);
  };

  const scheduleSoon = (): void => {
    if (queue.length >= SOON_GROUP) schedule();
    else if (!scheduled) soon ??= setTimeout(flush, SOON_MS);
  };

  const flush = (): void => {
    scheduled = false;
    clearTimeout(soon);
    soon = undefined;
    if (queue.length === 0) return;
    try {
      connection.sql('BEGIN IMMEDIATE').run();
    } catch (thrown) {
      return isBusy(thrown) ? comeBack() : refuse(takeAll(), toFailure(thrown, ACTION));
    }
    busySince = undefined;
    tries = 0;
    const group = queue.splice(0, LARGEST_GROUP);
    if (queue.length > 0) schedule();
    commit(group);
  };

  const comeBack = (): void => {
    busySince ??= Date.now();
    if (Date.now() - busySince > patienceMs) {
      busySince = undefined;
      return refuse(takeAll(), busy(patienceMs));
    }
    scheduled = true;
    setTimeout(flush, backoff(tries++));
  };

  const commit = (group: readonly Job[]): void => {
    try {
      for (const part of parts) part.begin();
      for (const job of group) perform(job);
      for (const part of parts) part.end?.();
      connection.sql('COMMIT').run();
    } catch (thrown) {
      connection.rollBack();
      return refuse(group, toFailure(thrown, ACTION));
    }
    const durable: Job[] = [];
    let bytes = 0;
    for (const job of group) {
      bytes += job.bytes;
      if (job.durable && job.refusal === undefined) durable.push(job);
      else settle(job);
    }
    checkpointer.committed(bytes);
    if (durable.length === 0) return;
    // While this sync runs, later groups are committed; they share the next one.
    walSync.after((failure) => {
      if (failure !== undefined) poison(failure);
      for (const job of durable) settle(job, failure);
    });
  };

  const poison = (failure: unknown): void => {
    const known = isFailure(failure) ? failure : fail('file.io', `${ACTION}: the disk failed`);
    refusal ??= () => known;
    refuse(takeAll(), refusal());
  };

  const push = <T>(work: () => T, durable: boolean, bytes: number): Promise<T> =>
    new Promise((resolve, reject) => {
      unsettled++;
      queue.push({ work, durable, bytes, resolve, reject });
    });

  return {
    enqueue(work, durable = false, bytes = USUAL_BYTES, alone = false) {
      if (refusal) return Promise.reject(refusal());
      schedule(alone);
      return push(work, durable, bytes);
    },
    enqueueSoon(work) {
      if (refusal) return Promise.reject(refusal());
      const done = push(work, false, USUAL_BYTES);
      scheduleSoon();
      return done;
    },
    settled() {
      if (queue.length === 0 || refusal) return undefined;
      schedule();
      return push(() => {}, false, 0).catch(() => {});
    },
    get takesWork() {
      return refusal === undefined;
    },
    drain() {
      refusal ??= () => fail('internal.unexpected', 'Cannot use the store: it is closed');
      // Nothing more can join the group. Another process that holds the database is waited for, as ever.
      if (busySince === undefined) flush();
      return unsettled === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            drained = resolve;
          });
    },
  };
}

const ACTION = 'Cannot record the call';

function perform(job: Job): void {
  try {
    job.value = job.work();
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    job.refusal = thrown;
  }
}

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
interface WalSync {
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
        if (error || folderSynced) return end(error ? toFailure(error, SYNC_ACTION) : undefined);
        syncFolder(folder).then(
          () => {
            folderSynced = true;
            end(undefined);
          },
          (thrown) => end(toFailure(thrown, SYNC_ACTION)),
        );
      });
    } catch (thrown) {
      end(toFailure(thrown, SYNC_ACTION));
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

const SYNC_ACTION = 'Cannot make the audit durable';

function removed(): Failure {
  return fail(
    'store.unwritable',
    `${SYNC_ACTION}: the state folder was deleted while Haft was running; restart it`,
  );
}

interface Checkpointer {
  /** Told after each commit about how many bytes went into it. */
  committed(bytes: number): void;
  close(): Promise<void>;
}

/** A checkpoint of this size takes 4 ms of a quiet disk, and any time of a busy one. */
const BYTES_A_CHECKPOINT = 1_600_000;

/** Runs as it stands, without the rest of the build. Being text, it needs no file of its own in a bundle. */
const THREAD = `
  process.emitWarning = () => {};
  const { parentPort, workerData } = require('node:worker_threads');
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(workerData, { timeout: 1000 });
  database.exec('PRAGMA synchronous = NORMAL');
  const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  parentPort.on('message', () => {
    try { checkpoint.get(); } catch {}
    parentPort.postMessage('done');
  });
`;

export function createCheckpointer(file: string): Checkpointer {
  let thread: Worker | undefined;
  let working = false;
  let bytesSince = 0;

  const start = (): Worker => {
    const { Worker: Thread } = process.getBuiltinModule('node:worker_threads');
    const started = new Thread(THREAD, { eval: true, workerData: file });
    started.on('message', () => {
      working = false;
    });
    // Without it the log still stays bounded: SQLite folds it in by itself, on the event loop, once it is long.
    started.on('error', () => {});
    // Last, since a listener makes the thread count again as something that the process waits for.
    started.unref();
    return started;
  };

  return {
    committed(bytes) {
      bytesSince += bytes;
      if (bytesSince < BYTES_A_CHECKPOINT || working) return;
      bytesSince = 0;
      working = true;
      thread ??= start();
      thread.postMessage('checkpoint');
    },
    async close() {
      await thread?.terminate();
    },
  };
}
