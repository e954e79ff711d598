// Owns: folding the write-ahead log into the database in a thread of its own, since that waits for the disk.
// Refuses: to start that thread for a process that writes little; such a log stays for a later one.
import type { Worker } from 'node:worker_threads';

export interface Checkpointer {
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
