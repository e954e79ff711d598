// Owns: tar archives of which there is only one for the same files: ustar, pax where a name or a size needs it, fixed times and owners.
// Refuses: every archive that it would not have written itself: reading one back names the first byte class that differs.
import { rejection } from './rejection.ts';

export interface TarFile {
  /** Relative, of whole names. */
  readonly path: string;
  readonly size: number;
  readonly executable?: boolean;
}

/** A file as it lies in an archive. */
export interface TarEntry extends TarFile {
  readonly executable: boolean;
  /** Where its content begins. */
  readonly offset: number;
}

export interface TarSource {
  readonly size: number;
  /** Exactly so many bytes from this position on. */
  read(position: number, length: number): Promise<Uint8Array>;
}

const BLOCK = 512;
/** An archive ends with two blocks of nothing. */
const END = 2 * BLOCK;
const LARGEST_USTAR = 0o77777777777;
const LONGEST_PAX = 64 * 1024;

/** What stands before a file's content. */
export function tarHeader(file: TarFile): Uint8Array {
  const split = splitPath(file.path);
  const records: string[] = [];
  if (!split) records.push(paxRecord('path', file.path));
  if (file.size > LARGEST_USTAR) records.push(paxRecord('size', String(file.size)));
  const { prefix, name } = split ?? { prefix: '', name: 'pax-named' };
  const size = file.size > LARGEST_USTAR ? 0 : file.size;
  const own = block({ name, prefix, size, type: '0', mode: file.executable ? 0o755 : 0o644 });
  if (records.length === 0) return own;
  const body = Buffer.from(records.join(''));
  const pax = block({ name: 'pax', prefix: '', size: body.length, type: 'x', mode: 0o644 });
  return Buffer.concat([pax, body, padding(body.length), own]);
}

/** What stands after a content of this many bytes. */
export function padding(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

export const TAR_END: () => Uint8Array = () => new Uint8Array(END);

/** The files of an archive, in its order. Throws a `Rejection` for anything that `tarHeader` and its like do not write. */
export async function* readTar(source: TarSource): AsyncGenerator<TarEntry> {
  let at = 0;
  let before = '';
  for (;;) {
    if (at + END > source.size) throw refuse(before, 'the archive breaks off');
    const file = await readHeader(source, at);
    if (!file) break;
    if (before !== '' && Buffer.compare(Buffer.from(before), Buffer.from(file.path)) >= 0)
      throw refuse(file.path, 'it is out of order');
    before = file.path;
    const header = tarHeader(file);
    const offset = at + header.length;
    const end = offset + file.size + padding(file.size).length;
    if (end + END > source.size) throw refuse(file.path, 'the archive breaks off');
    if (Buffer.compare(await source.read(at, header.length), header) !== 0)
      throw refuse(file.path, 'its header is not the one that belongs to it');
    if (!isZero(await source.read(offset + file.size, end - offset - file.size)))
      throw refuse(file.path, 'something stands behind its content');
    yield { ...file, offset };
    at = end;
  }
  if (source.size !== at + END || !isZero(await source.read(at, END)))
    throw refuse(before, 'something stands behind the last file');
}

/** What a header says, believed for now; undefined at the end. */
async function readHeader(source: TarSource, at: number): Promise<Required<TarFile> | undefined> {
  let header = Buffer.from(await source.read(at, BLOCK));
  if (isZero(header)) return undefined;
  let pax = new Map<string, string>();
  if (String.fromCharCode(header[156]!) === 'x') {
    const length = octal(header, 124, 12);
    const next = at + BLOCK + length + padding(length).length;
    if (!(length <= LONGEST_PAX) || next + BLOCK > source.size) throw refuse('', 'a header is not readable');
    pax = parsePax(Buffer.from(await source.read(at + BLOCK, length)).toString('utf8'));
    header = Buffer.from(await source.read(next, BLOCK));
  }
  const prefix = text(header, 345, 155);
  const path = pax.get('path') ?? (prefix === '' ? '' : `${prefix}/`) + text(header, 0, 100);
  const size = Number(pax.get('size') ?? octal(header, 124, 12));
  if (path === '' || !Number.isSafeInteger(size) || size < 0) throw refuse(path, 'a header is not readable');
  return { path, size, executable: octal(header, 100, 8) === 0o755 };
}

interface Block {
  readonly name: string;
  readonly prefix: string;
  readonly size: number;
  readonly type: string;
  readonly mode: number;
}

/** Owner, group and time are 0; no names of users. */
function block({ name, prefix, size, type, mode }: Block): Buffer {
  const bytes = Buffer.alloc(BLOCK);
  bytes.write(name, 0);
  bytes.write(octalText(mode, 7), 100);
  bytes.write(octalText(0, 7), 108);
  bytes.write(octalText(0, 7), 116);
  bytes.write(octalText(size, 11), 124);
  bytes.write(octalText(0, 11), 136);
  bytes.write(' '.repeat(8), 148);
  bytes.write(type, 156);
  bytes.write('ustar\0' + '00', 257);
  bytes.write(octalText(0, 7), 329);
  bytes.write(octalText(0, 7), 337);
  bytes.write(prefix, 345);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${octalText(sum, 6)}\0 `, 148);
  return bytes;
}

const octalText = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

/** Into at most 155 and 100 bytes at a slash; undefined where that cannot be, or where it is not plain text. */
function splitPath(path: string): { readonly prefix: string; readonly name: string } | undefined {
  if (!/^[\x20-\x7e]+$/.test(path)) return undefined;
  if (path.length <= 100) return { prefix: '', name: path };
  const slash = path.indexOf('/', path.length - 101);
  return slash > 0 && slash <= 155
    ? { prefix: path.slice(0, slash), name: path.slice(slash + 1) }
    : undefined;
}

/** `LENGTH KEY=VALUE\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function parsePax(body: string): Map<string, string> {
  return new Map([...body.matchAll(/^\d+ (path|size)=(.*)$/gm)].map(([, key, value]) => [key!, value!]));
}

function text(bytes: Buffer, at: number, length: number): string {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.subarray(0, end === -1 ? length : end).toString('latin1');
}

const octal = (bytes: Buffer, at: number, length: number): number =>
  Number.parseInt(text(bytes, at, length).trim() || '0', 8);

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

function refuse(path: string, fact: string): Error {
  return rejection(
    'input.not_canonical',
    `Cannot read the archive${path === '' ? '' : ` at "${path}"`}: ${fact}`,
    path,
  );
}
