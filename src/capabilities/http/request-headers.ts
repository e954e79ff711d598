// Owns: which headers callers may send, which are sent for them, and undoing the content encodings that they ask for, as a stream.
// Refuses: whatever frames, routes or splits a message (those are the client's own), and to guess: an encoding that is not known
// leaves the body as it came.
import { once } from 'node:events';
import { pipeline, type Readable, type Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { fail } from '../../contract/errors.ts';
import { VERSION } from '../../contract/version.ts';

/** Names in lower case. */
export type Headers = ReadonlyMap<string, string>;

const MAX_HEADERS = 100;
const MAX_BYTES = 48 * 1024;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** A tab and the printable part of Latin-1: what a header can hold without being read otherwise somewhere. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const OURS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export function checkHeaders(given: { readonly [name: string]: string } = {}): Headers {
  const headers = new Map<string, string>();
  let bytes = 0;
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    const shown = JSON.stringify(name.slice(0, 64));
    if (!TOKEN.test(name)) throw refuse(`${shown} is not the name of a header`);
    if (OURS.has(lower) || lower.startsWith('proxy-')) throw refuse(`${shown} is set by the client alone`);
    if (headers.has(lower)) throw refuse(`${shown} is there more than once`);
    if (!VALUE.test(value))
      throw refuse(`the value of ${shown} holds line breaks or other control characters`);
    headers.set(lower, value.trim());
    bytes += name.length + value.length + 4;
  }
  if (headers.size > MAX_HEADERS) throw refuse(`there are more than ${MAX_HEADERS}`);
  if (bytes > MAX_BYTES) throw refuse(`they are larger than ${MAX_BYTES} bytes`);
  for (const [name, value] of DEFAULTS) if (!headers.has(name)) headers.set(name, value);
  return headers;
}

const refuse = (fact: string) => fail('http.header', `Cannot send these headers: ${fact}`);

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
const ACCEPTED_ENCODINGS = Object.keys(DECODERS)
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

const DEFAULTS: readonly (readonly [string, string])[] = [
  ['accept', '*/*'],
  ['accept-encoding', ACCEPTED_ENCODINGS],
  ['user-agent', `haft/${VERSION}`],
];
