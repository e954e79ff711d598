// Owns: reading a file that a person named on the command line.
// Refuses: to read more than the limit.
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { fail } from '../../contract/errors.ts';

export async function readFileArgument(path: string, limit: number): Promise<Uint8Array> {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const { size } = fstatSync(fd);
    if (size > limit) {
      throw fail('input.too_large', `Cannot read ${path}: it is ${size} bytes, over the limit of ${limit}`, {
        bytes: size,
        limit,
      });
    }
    return readFileSync(fd);
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') throw fail('usage', `Cannot read ${path}: there is no such file`);
    if (code === 'EISDIR') throw fail('usage', `Cannot read ${path}: it is a directory`);
    if (code === 'EACCES') throw fail('usage', `Cannot read ${path}: permission denied`);
    throw thrown;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
