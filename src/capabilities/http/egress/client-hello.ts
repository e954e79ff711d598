// Owns: reading the first message of TLS as far as the name of the host that it is for.
// Refuses: anything that is not exactly one well-formed ClientHello; it decrypts nothing and changes nothing.

export type HelloReading =
  /** The message is not complete. */
  | { readonly state: 'more' }
  /** No TLS, or not as the standard writes it. */
  | { readonly state: 'bad'; readonly message: string }
  /** `serverName` is undefined where the client names none. */
  | { readonly state: 'ok'; readonly serverName: string | undefined };

/** Larger ones are refused; those with post-quantum keys have about 2 KiB. */
export const MAX_HELLO_BYTES = 32 * 1024;

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/** `bytes` is all that came so far, records and all. */
export function readClientHello(bytes: Buffer): HelloReading {
  try {
    const message = handshakeOf(bytes);
    if (message === undefined) {
      return bytes.length > MAX_HELLO_BYTES ? bad('its first message is too large') : { state: 'more' };
    }
    return { state: 'ok', serverName: serverNameOf(message) };
  } catch (error) {
    return bad((error as Error).message);
  }
}

const bad = (message: string): HelloReading => ({ state: 'bad', message });

/** The body of the ClientHello, put together from its records; undefined until all of it is there. */
function handshakeOf(bytes: Buffer): Buffer | undefined {
  const fragments: Buffer[] = [];
  let size = 0;
  for (let at = 0; ; ) {
    // As early as it shows: somebody who speaks first and no TLS would otherwise be waited for.
    if (at < bytes.length && bytes[at] !== HANDSHAKE_RECORD) throw new Error('it is not TLS');
    if (bytes.length < at + 5) return undefined;
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at + 1] !== 3 || length === 0 || length > 16_384) throw new Error('it is not TLS');
    const fragment = bytes.subarray(at + 5, at + 5 + length);
    fragments.push(fragment);
    size += fragment.length;
    const whole = handshakeIn(fragments, size);
    if (whole) return whole;
    if (fragment.length < length) return undefined;
    at += 5 + length;
  }
}

function handshakeIn(fragments: readonly Buffer[], size: number): Buffer | undefined {
  if (size < 4) return undefined;
  const joined = Buffer.concat(fragments as Buffer[], size);
  if (joined[0] !== CLIENT_HELLO) throw new Error('its first message is not a ClientHello');
  const length = joined.readUIntBE(1, 3);
  if (length > MAX_HELLO_BYTES) throw new Error('its first message is too large');
  if (size > 4 + length) throw new Error('it says more than a ClientHello before it is answered');
  return size < 4 + length ? undefined : joined.subarray(4);
}

/** Reads forward only, and never beyond the end. */
function reader(bytes: Buffer) {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('its ClientHello is cut off');
    at += length;
    return bytes.subarray(at - length, at);
  };
  return {
    take,
    number: (size: number): number => take(size).readUIntBE(0, size),
    /** What a length of `size` bytes is before. */
    vector: (size: number): Buffer => take(take(size).readUIntBE(0, size)),
    done: (): boolean => at === bytes.length,
  };
}

function serverNameOf(body: Buffer): string | undefined {
  const hello = reader(body);
  hello.take(2 + 32);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  if (hello.done()) return undefined;
  const extensions = reader(hello.vector(2));
  if (!hello.done()) throw new Error('its ClientHello goes on after its end');
  let serverName: string | undefined;
  while (!extensions.done()) {
    const type = extensions.number(2);
    const value = extensions.vector(2);
    if (type !== SERVER_NAME) continue;
    if (serverName !== undefined) throw new Error('it names its host twice');
    serverName = onlyName(value);
  }
  return serverName;
}

function onlyName(extension: Buffer): string {
  const outer = reader(extension);
  const list = reader(outer.vector(2));
  const type = list.number(1);
  const name = list.vector(2);
  if (!outer.done() || !list.done() || type !== HOST_NAME) throw new Error('it names more than one host');
  if (name.length === 0 || name.length > 255 || !/^[A-Za-z0-9._:-]+$/.test(name.toString('latin1')))
    throw new Error('the name of its host is not one');
  return name.toString('latin1').toLowerCase();
}
