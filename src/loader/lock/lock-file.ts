// Owns: `haft.lock` in the workspace: read whole, replaced whole.
// Refuses: a link in its place: it would be another's file.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../base/digest.ts';
import { isRecord } from '../../base/is-record.ts';
import { parseStrict } from '../../base/strict-json.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { LockFile } from '../../contract/lock.ts';
import { withRegular } from '../read-regular.ts';

const NAME = 'haft.lock';

const readText = (file: string): string =>
  withRegular(file, (descriptor) => readFileSync(descriptor, 'utf8'));

/** Undefined where there is none: then nothing is pinned. Throws `lockfile.invalid`. */
export function readLockFile(workspace: string): LockFile | undefined {
  let text: string;
  try {
    text = readText(join(workspace, NAME));
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw fail('lockfile.invalid', `Cannot read haft.lock: ${FACTS[code] ?? `the system reports ${code}`}`);
  }
  return parseLock(text);
}

const FACTS: Readonly<Record<string, string>> = {
  ELOOP: 'it is a link',
  ENOTREG: 'it is not a regular file',
};

/** SHA-256 of it in Haft's own spelling, or of its bytes where it cannot be read as one; null where there is none. */
export function lockDigest(workspace: string): string | null {
  try {
    return sha256Hex(respelled(readText(join(workspace, NAME))));
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ENOENT' ? null : 'unreadable';
  }
}

function respelled(text: string): string {
  try {
    return renderLock(parseLock(text));
  } catch {
    return text;
  }
}

/** Answers whether it was another before. */
export function writeLockFile(workspace: string, lock: LockFile): boolean {
  const file = join(workspace, NAME);
  const text = renderLock(lock);
  if (presentText(file) === text) return false;
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    rmSync(temporary, { force: true });
    const descriptor = openSync(temporary, 'wx', 0o644);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, file);
    return true;
  } catch (thrown) {
    rmSync(temporary, { force: true });
    const { code } = thrown as NodeJS.ErrnoException;
    throw fail('path.denied_by_os', `Cannot write haft.lock: the system reports ${code}`);
  }
}

function presentText(file: string): string | undefined {
  try {
    return readText(file);
  } catch {
    return undefined;
  }
}

export function renderLock(lock: LockFile): string {
  const { version, packs, tools } = lock;
  return `${JSON.stringify({ version, packs: sorted(packs), tools: sorted(tools) }, null, 2)}\n`;
}

/** Throws `lockfile.invalid`. */
export function parseLock(text: string): LockFile {
  if (/^(<{7}|={7}|>{7})/m.test(text)) throw invalid('it holds the marks of a merge conflict');
  let value: unknown;
  try {
    value = parseStrict(text);
  } catch (thrown) {
    throw invalid((thrown as Error).message.replace(/^Cannot parse the text as JSON: /, 'it is not JSON: '));
  }
  const problem = problemOf(value);
  if (problem !== undefined) throw invalid(problem);
  return value as LockFile;
}

function problemOf(value: unknown): string | undefined {
  if (!isRecord(value)) return 'it is no JSON object';
  if (value.version !== 1) return `it is of version ${JSON.stringify(value.version)}, and this Haft knows 1`;
  const { packs, tools } = value;
  if (!isRecord(packs) || !isRecord(tools)) return 'it has no packs or no tools';
  for (const [name, pack] of Object.entries(packs)) {
    const fine =
      isRecord(pack) &&
      typeof pack.origin === 'string' &&
      typeof pack.config === 'string' &&
      (pack.files === undefined || isRecord(pack.files));
    if (!fine) return `packs: "${name.slice(0, 80)}" is not what Haft writes`;
  }
  for (const [id, tool] of Object.entries(tools)) {
    const fine =
      isRecord(tool) &&
      typeof tool.pack === 'string' &&
      typeof tool.digest === 'string' &&
      isRecord(tool.definition) &&
      (tool.files === undefined || isRecord(tool.files));
    if (!fine) return `tools: "${id.slice(0, 80)}" is not what Haft writes`;
  }
  return undefined;
}

const invalid = (fact: string): Failure =>
  fail(
    'lockfile.invalid',
    `Cannot read haft.lock: ${fact}; mend it, or remove it and look at what "haft tools lock" writes anew`,
  );

/** Names in order, all the way down; lists stay as they are. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  // `fromEntries` keeps a key `__proto__` as what it is: a key.
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}
