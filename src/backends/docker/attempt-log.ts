// Owns: what an attempt says: the entry's first line taken off, the rest handed on as it comes, and kept in meta/log at the end.
// Refuses: to keep more than it may, and to wait for a reader for ever: who reads too much, or for too long, is cut.
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { newId } from '../../base/new-id.ts';
import { type Observation, parseObservation } from '../entry-script.ts';
import { TAIL_BYTES } from '../write-once.ts';
import { logsPath } from './container.ts';
import type { EngineApi } from './engine-api.ts';

type OnPart = (stream: LogStream, part: Buffer) => void;

/** Settles when the container ends, or there is none: false then. */
export async function followLog(
  api: EngineApi,
  name: string,
  onPart: OnPart,
  signal: AbortSignal,
): Promise<boolean> {
  const { take } = splitter(onPart);
  return (await api.stream(logsPath(name, true), logFrames(take), signal)) === 200;
}

interface KeptLog {
  readonly observation: Observation | undefined;
  readonly over: boolean;
  /** The end of what went to standard error. */
  readonly stderr: Uint8Array;
}

/** Writes the whole log of a container that has ended to a file, durably. Undefined when the container is gone, or another process has recorded the end: that one removes the container, and an engine may answer with a part of the log meanwhile. */
export async function keepLog(
  api: EngineApi,
  name: string,
  files: { readonly log: string; readonly end: string },
  maxBytes: number,
): Promise<KeptLog | undefined> {
  const temporary = `${files.log}.${newId('tmp')}`;
  const fd = openSync(temporary, 'wx', 0o600);
  const enough = new AbortController();
  let room = maxBytes;
  let stderr = Buffer.alloc(0);
  try {
    const { take, first } = splitter((stream, part) => {
      if (enough.signal.aborted) return;
      room -= logCost(part);
      if (room < 0) enough.abort(OVER);
      else writeSync(fd, part);
      if (stream === 'stderr') stderr = Buffer.concat([stderr, part]).subarray(-TAIL_BYTES);
    });
    const status = await api.stream(logsPath(name, false), logFrames(take), enough.signal).catch((thrown) => {
      if (thrown !== OVER) throw thrown;
      return 200;
    });
    if (status !== 200 || existsSync(files.end)) return undefined;
    fsyncSync(fd);
    renameSync(temporary, files.log);
    return { observation: parseObservation(first()), over: enough.signal.aborted, stderr };
  } finally {
    closeSync(fd);
    rmSync(temporary, { force: true });
  }
}

/** What counts against the limit of a log: engines keep more of a line than what is in it. */
export function logCost(part: Buffer): number {
  let lines = 0;
  for (let at = part.indexOf(10); at !== -1; at = part.indexOf(10, at + 1)) lines++;
  return part.length + lines * LINE_BYTES;
}

const LINE_BYTES = 16;

const OVER = Symbol.for('haft.over');

/** The entry's line is no longer than this. */
const MAX_FIRST_LINE = 64 * 1024;

function splitter(onPart: OnPart): { readonly take: OnPart; first(): string } {
  let line = Buffer.alloc(0);
  let passed = false;
  return {
    first: () => line.toString(),
    take(stream, part) {
      if (passed || stream === 'stderr') return onPart(stream, part);
      const end = part.indexOf('\n');
      line = Buffer.concat([line, end === -1 ? part : part.subarray(0, end)]);
      passed = end !== -1 || line.length > MAX_FIRST_LINE;
      if (end !== -1 && end + 1 < part.length) onPart(stream, part.subarray(end + 1));
    },
  };
}

export interface Readers {
  add(attemptId: string, reading: Promise<unknown>): void;
  /** Settles when nobody reads any more, or has read for long enough. */
  done(attemptId: string): Promise<void>;
}

const LONGEST_MS = 2000;

export function createReaders(): Readers {
  const all = new Map<string, Set<Promise<unknown>>>();
  return {
    add(attemptId, reading) {
      const own = all.get(attemptId) ?? new Set();
      all.set(attemptId, own.add(reading));
      const leave = () => {
        own.delete(reading);
        if (own.size === 0) all.delete(attemptId);
      };
      reading.then(leave, leave);
    },
    async done(attemptId) {
      const own = all.get(attemptId);
      if (!own) return;
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, LONGEST_MS);
      await Promise.race([Promise.allSettled(own), late]);
      clearTimeout(timer);
    },
  };
}

export type LogStream = 'stdout' | 'stderr';

/** Give it the body of a `logs` request, chunk by chunk. */
export function logFrames(onPart: (stream: LogStream, part: Buffer) => void): (chunk: Buffer) => void {
  let head = Buffer.alloc(0);
  let stream: LogStream = 'stdout';
  let left = 0;
  return (chunk) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (left === 0) {
        const missing = HEAD_BYTES - head.length;
        head = Buffer.concat([head, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (head.length < HEAD_BYTES) return;
        stream = head[0] === STDERR ? 'stderr' : 'stdout';
        left = head.readUInt32BE(4);
        head = Buffer.alloc(0);
        continue;
      }
      const part = rest.subarray(0, left);
      rest = rest.subarray(part.length);
      left -= part.length;
      onPart(stream, part);
    }
  };
}

const HEAD_BYTES = 8;
const STDERR = 2;
