// Owns: reading a decoded body: the beginning for the caller, all of it for an artifact where one is asked for.
// Refuses: to read on once nobody wants more: a bomb stops at the limit of what it became, not of what it was.
import type { Readable } from 'node:stream';
import type { HttpResponse } from '../../contract/http.ts';
import type { ObjectStore } from '../../contract/object-store.ts';
import type { Collected } from './sinks.ts';

export interface ArtifactPlace {
  readonly objects: Pick<ObjectStore, 'putStream'>;
  readonly maxBytes: number;
}

export interface CollectedBody extends Collected {
  readonly artifact?: NonNullable<HttpResponse['artifact']>;
}

export async function collectBody(
  stream: Readable,
  maxBytes: number,
  place: ArtifactPlace | undefined,
): Promise<CollectedBody> {
  const chunks: Buffer[] = [];
  let kept = 0;
  let seen = 0;
  const keep = (chunk: Buffer): void => {
    const part = chunk.subarray(0, Math.max(0, maxBytes - kept));
    seen += chunk.length;
    if (part.length === 0) return;
    chunks.push(part);
    kept += part.length;
  };
  const collected = () => ({ bytes: Buffer.concat(chunks), truncated: seen > kept });

  if (!place) {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      keep(chunk);
      if (seen > maxBytes) break;
    }
    return collected();
  }

  let cut = false;
  async function* whole(limit: number): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const room = limit - seen;
      keep(chunk);
      cut = chunk.length > room;
      yield cut ? chunk.subarray(0, room) : chunk;
      if (cut) return;
    }
  }
  const { id, size } = await place.objects.putStream(whole(place.maxBytes));
  return { ...collected(), artifact: { id, size, truncated: cut } };
}

/** The same for somebody who takes every piece and wants none kept. */
export async function passBody(stream: Readable, pass: (chunk: Buffer) => unknown): Promise<CollectedBody> {
  for await (const chunk of stream as AsyncIterable<Buffer>) await pass(chunk);
  return { bytes: new Uint8Array(0), truncated: false };
}
