// Owns: the form in which checked packs are kept: columns of one kind each, which are read without parsing.
// Refuses: to judge whether what was kept still holds; see pack-cache.
import type { Diagnostic } from '../../contract/diagnostic.ts';

/** What is kept of a pack. */
export interface Kept {
  /** The pack's folder. */
  readonly folder: string;
  /** Every file that matters; the manifests come first, in the order of the tools. */
  readonly paths: readonly string[];
  /** Four numbers for each of them, and `ABSENT` where nothing was there. */
  readonly stamps: Float64Array;
  /** Of each tool: its own id, and those of its actions behind it, with spaces between. */
  readonly ids: readonly string[];
  /** One behind the other. */
  readonly digests: string;
  /** Of each tool: how many files it depends on, and then their positions in `paths`; the tools follow each other. */
  readonly depends: Uint32Array;
  /** The sizes of the bodies, which follow each other from `start` on. */
  readonly sizes: Uint32Array;
  readonly bytes: Buffer;
  readonly start: number;
  /** Of manifests that something was said about, by path. */
  readonly diagnostics: { readonly [path: string]: readonly Diagnostic[] };
}

interface Head extends Pick<Kept, 'folder' | 'diagnostics'> {
  readonly tools: number;
  readonly files: number;
  readonly texts: number;
  readonly depends: number;
}

/** The first number of the stamp of what was not there. */
export const ABSENT = -1;
/** The length of a digest. */
export const DIGEST = 64;

/** Names that could not be told apart again are not kept. */
export const canKeep = (path: string): boolean => !path.includes('\n');

export function encodeKept(kept: Omit<Kept, 'bytes' | 'start'>, bodies: readonly Uint8Array[]): Uint8Array[] {
  const { folder, diagnostics, paths, ids, digests, stamps, sizes, depends } = kept;
  const texts = Buffer.from([...paths, ...ids, digests].join('\n'));
  const head: Head = {
    folder,
    tools: ids.length,
    files: paths.length,
    texts: texts.length,
    depends: depends.length,
    diagnostics,
  };
  const numbers = [stamps, sizes, depends].map(
    (column) => new Uint8Array(column.buffer, column.byteOffset, column.byteLength),
  );
  return [Buffer.from(`${JSON.stringify(head)}\n`), texts, ...numbers, ...bodies];
}

/** Undefined where the bytes are not what was written. */
export function decodeKept(bytes: Buffer): Kept | undefined {
  try {
    const end = bytes.indexOf('\n');
    const { folder, diagnostics, ...head } = JSON.parse(bytes.toString('utf8', 0, end)) as Head;
    let start = end + 1;
    const take = (length: number): Buffer => {
      start += length;
      return bytes.subarray(start - length, start);
    };
    const texts = take(head.texts).toString('utf8').split('\n');
    const stamps = new Float64Array(copyOf(take(head.files * 4 * 8)));
    const sizes = new Uint32Array(copyOf(take(head.tools * 4)));
    const depends = new Uint32Array(copyOf(take(head.depends * 4)));
    const paths = texts.slice(0, head.files);
    const ids = texts.slice(head.files, head.files + head.tools);
    const digests = texts[head.files + head.tools] ?? '';
    const whole =
      start + sizes.reduce((sum, size) => sum + size, 0) === bytes.length &&
      digests.length === head.tools * DIGEST;
    return whole
      ? { folder, diagnostics, paths, stamps, ids, digests, depends, sizes, bytes, start }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Columns of numbers must begin where numbers may. */
function copyOf(bytes: Buffer): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.length);
  new Uint8Array(copy).set(bytes);
  return copy;
}
