// Owns: reading a file, or a JSON object, that a person named on the command line.
// Refuses: to read more than the limit.
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { parseStrict } from '../../base/strict-json.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';

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
    throw (await import('./named-path.ts')).readFailure(thrown, path);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

const LARGEST_OBJECT = 1024 * 1024;

/** As it is written, or in the file that `@file` names. `what` is for messages. */
export async function readObjectArgument(given: string, what: string): Promise<JsonObject> {
  const text = given.startsWith('@')
    ? new TextDecoder().decode(await readFileArgument(given.slice(1), LARGEST_OBJECT))
    : given;
  let value: unknown;
  try {
    value = parseStrict(text);
  } catch (thrown) {
    throw fail('usage', `Cannot read ${what}: ${(thrown as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw fail('usage', `Cannot read ${what}: it is no JSON object`);
  return value as JsonObject;
}
