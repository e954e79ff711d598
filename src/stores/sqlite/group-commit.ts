// Owns: the one queue of everything that writes, and turning what is in it into one transaction.
// Refuses: to answer before the commit, to wait on the event loop for another process, and to go on after a lost sync.
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import { isBusy, toFailure } from '../store-failure.ts';
import type { Checkpointer } from './checkpointer.ts';
import { backoff, busy, type Connection, type Patience } from './connection.ts';
import type { WalSync } from './wal-sync.ts';

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

export interface GroupCommitParts extends Patience {
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
  let refusal: Failure | undefined;
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
    refusal ??= isFailure(failure) ? failure : fail('file.io', `${ACTION}: the disk failed`);
    refuse(takeAll(), refusal);
  };

  const push = <T>(work: () => T, durable: boolean, bytes: number): Promise<T> =>
    new Promise((resolve, reject) => {
      unsettled++;
      queue.push({ work, durable, bytes, resolve, reject });
    });

  return {
    enqueue(work, durable = false, bytes = USUAL_BYTES, alone = false) {
      if (refusal) return Promise.reject(refusal);
      schedule(alone);
      return push(work, durable, bytes);
    },
    enqueueSoon(work) {
      if (refusal) return Promise.reject(refusal);
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
      refusal ??= fail('internal.unexpected', 'Cannot use the store: it is closed');
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
