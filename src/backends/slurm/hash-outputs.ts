// Owns: hashing outputs once more, to see that they are still what the job left.
// Refuses: what is not declared, and links; `checkOutputs` has looked before.
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createSha256, sha256Hex } from '../../base/digest.ts';
import { kindOf, placeOf } from '../check-outputs.ts';
import { type OutEntry, outEntries } from '../out-entries.ts';
import type { HashedOutput } from './job-script.ts';

type Hashed = Omit<HashedOutput, 'src'>;

/** The first output that differs from what the job said, or undefined. */
export async function differingOutput(
  out: string,
  declared: readonly string[],
  said: readonly HashedOutput[],
): Promise<string | undefined> {
  for (const src of declared) {
    const before = said.find((output) => output.src === src);
    const hash = kindOf(src) === 'file' ? hashFile : hashFolder;
    const now = await hash(`${out}/${placeOf(src)}`);
    if (before?.sha256 !== now.sha256 || before.bytes !== now.bytes) return src;
  }
  return undefined;
}

async function hashFile(path: string): Promise<Hashed> {
  const hash = createSha256();
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return { bytes, sha256: hash.hex() };
}

const OWNER_RUNS = 0o100;
/** Read at once rather than as a stream: of 20,000 small files that takes a fourth of the time. */
const SHORT = 1024 * 1024;
const AT_ONCE = 8;

/** As coreutils on the node can say it: a record for each folder, for each file that can be run and for each file's hash, in order. */
async function hashFolder(path: string): Promise<Hashed> {
  const records: Buffer[] = [];
  const files: OutEntry[] = [];
  for await (const entry of outEntries(path)) {
    if (entry.kind === 'folder') records.push(Buffer.from(`folder ${entry.path}`));
    if (entry.kind === 'file') files.push(entry);
  }
  let bytes = 0;
  const queue = files.values();
  const work = async (): Promise<void> => {
    for (const entry of queue) {
      const place = `${path}/${entry.path}`;
      const hashed = entry.bytes > SHORT ? await hashFile(place) : hashBytes(await readFile(place));
      bytes += hashed.bytes;
      records.push(Buffer.from(`${hashed.sha256}  ./${entry.path}`));
      if ((await stat(place)).mode & OWNER_RUNS) records.push(Buffer.from(`runs ${entry.path}`));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const end = Buffer.alloc(1);
  const hash = createSha256();
  for (const record of records.sort(Buffer.compare)) hash.update(Buffer.concat([record, end]));
  return { bytes, sha256: hash.hex() };
}

const hashBytes = (bytes: Uint8Array): Hashed => ({ bytes: bytes.length, sha256: sha256Hex(bytes) });
