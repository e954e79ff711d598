// Owns: what is kept in an attempt's `meta/` while it runs on this machine, and showing files that grow.
// Refuses: to change what is there: claim and end are each written once.
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

export interface LocalFiles {
  /** Which process executes it. Durable before it begins. */
  readonly claim: string;
  /** That somebody wants it ended. */
  readonly cancel: string;
  readonly end: string;
  readonly log: string;
  readonly streams: Readonly<Record<'stdout' | 'stderr', string>>;
}

export function localFiles(folder: string): LocalFiles {
  const meta = (name: string) => join(folder, 'meta', name);
  return {
    claim: meta('claim.json'),
    cancel: meta('cancel.json'),
    end: meta('end.json'),
    log: meta('log'),
    streams: { stdout: meta('stdout'), stderr: meta('stderr') },
  };
}

const LOOK_EVERY_MS = 50;

type OnChunk = (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void;

/** From their beginning, until what `isWhole` said yes to before a last look, or until it is ended. */
export function followStreams({ streams }: LocalFiles, onChunk: OnChunk, isWhole: () => boolean): () => void {
  const offsets = { stdout: 0, stderr: 0 };
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const look = (): void => {
    const last = isWhole();
    for (const stream of ['stdout', 'stderr'] as const) {
      for (let chunk = readAt(streams[stream], offsets[stream]); chunk.length > 0 && !stopped; ) {
        offsets[stream] += chunk.length;
        onChunk(stream, chunk);
        chunk = readAt(streams[stream], offsets[stream]);
      }
    }
    if (!stopped && !last) timer = setTimeout(look, LOOK_EVERY_MS);
  };
  timer = setTimeout(look, 0);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

const PIECE = 65_536;

function readAt(path: string, position: number): Uint8Array {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const into = Buffer.allocUnsafe(PIECE);
    return into.subarray(0, readSync(descriptor, into, 0, PIECE, position));
  } catch {
    return NOTHING;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const NOTHING = new Uint8Array();
