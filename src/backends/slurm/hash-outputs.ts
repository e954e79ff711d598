// Owns: hashing outputs in the way that the job does, to see that they are still what the job left.
// Refuses: what is not declared, and links; `checkOutputs` has looked before.
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { createSha256 } from '../../base/digest.ts';
import type { HashedOutput } from './job-script.ts';

/** The first output that differs from what the job said, or undefined. */
export async function differingOutput(
  out: string,
  declared: readonly string[],
  said: readonly HashedOutput[],
): Promise<string | undefined> {
  for (const src of declared) {
    const before = said.find((output) => output.src === src);
    const now = await hashOutput(out, src);
    if (before?.sha256 !== now.sha256 || before.bytes !== now.bytes || before.kind !== now.kind) return src;
  }
  return undefined;
}

async function hashOutput(out: string, src: string): Promise<Omit<HashedOutput, 'src'>> {
  const path = `${out}/${src}`;
  const stats = await stat(path);
  if (!stats.isDirectory()) return { kind: 'file', bytes: stats.size, sha256: await hashFile(path) };
  const list = createSha256();
  let bytes = 0;
  for (const name of await filesBelow(path)) {
    const file = `${path}/${name.toString()}`;
    bytes += (await stat(file)).size;
    list.update(Buffer.concat([Buffer.from(`${await hashFile(file)}  ./${src}/`), name, Buffer.of(0)]));
  }
  return { kind: 'folder', bytes, sha256: list.hex() };
}

/** In the order of their bytes, as `sort -z` has them under LC_ALL=C. */
async function filesBelow(folder: string): Promise<Buffer[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => Buffer.from(`${entry.parentPath}/${entry.name}`.slice(folder.length + 1)))
    .sort(Buffer.compare);
}

async function hashFile(path: string): Promise<string> {
  const hash = createSha256();
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }))
    hash.update(chunk as Buffer);
  return hash.hex();
}
