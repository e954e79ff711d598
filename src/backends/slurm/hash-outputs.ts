// Owns: hashing outputs once more, to see that they are still what the job left.
// Refuses: what is not declared, and links; `checkOutputs` has looked before.
import { createReadStream } from 'node:fs';
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
    const now = await hashFile(`${out}/${src}`);
    if (before?.sha256 !== now.sha256 || before.bytes !== now.bytes) return src;
  }
  return undefined;
}

async function hashFile(path: string): Promise<Omit<HashedOutput, 'src'>> {
  const hash = createSha256();
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return { bytes, sha256: hash.hex() };
}
