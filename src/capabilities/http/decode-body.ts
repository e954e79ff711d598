// Owns: undoing the content encodings of a body, as a stream: what is not read is not decoded.
// Refuses: to guess: an encoding that is not known leaves the body as it came.
import { once } from 'node:events';
import { pipeline, type Readable, type Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

const MAX_LAYERS = 3;

type Decoder = (firstByte: number) => Transform;

const DECODERS: { readonly [encoding: string]: Decoder } = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  br: () => createBrotliDecompress(),
  // Some servers send bare deflate data where the standard asks for a zlib frame.
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  // Not in every build of the Node versions that are supported.
  ...(typeof createZstdDecompress === 'function' ? { zstd: () => createZstdDecompress() } : {}),
};

/** What to ask servers for. */
export const ACCEPTED_ENCODINGS = Object.keys(DECODERS)
  .filter((name) => !name.startsWith('x-'))
  .join(', ');

/** The encodings of a `content-encoding` header, last applied first; undefined where there is nothing to undo, or no way to. */
export function encodingsOf(header: string | readonly string[] | undefined): readonly string[] | undefined {
  const names = [header ?? []]
    .flat()
    .flatMap((value) => value.split(','))
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length === 0 || names.length > MAX_LAYERS) return undefined;
  return names.every((name) => Object.hasOwn(DECODERS, name)) ? names.reverse() : undefined;
}

/** Errors of the source and of decoders end the answered stream; destroying it ends the source. */
export async function decodeBody(source: Readable, encodings: readonly string[]): Promise<Readable> {
  let stream = source;
  for (const encoding of encodings) {
    const first = await peek(stream);
    if (first === undefined) return stream;
    const decoder = DECODERS[encoding]!(first);
    pipeline(stream, decoder, () => {});
    stream = decoder;
  }
  return stream;
}

/** The first byte, left in the stream; undefined where it is empty. */
async function peek(stream: Readable): Promise<number | undefined> {
  for (;;) {
    if (stream.errored) throw stream.errored;
    const chunk: Buffer | null = stream.read();
    if (chunk !== null) {
      stream.unshift(chunk);
      return chunk[0];
    }
    if (stream.readableEnded) return undefined;
    await Promise.race([once(stream, 'readable'), once(stream, 'end')]);
  }
}
