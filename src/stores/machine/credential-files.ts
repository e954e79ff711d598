// Owns: the system's sealed credentials: one file for each provider, beside the key.
// Refuses: those of users, which belong to a workspace; and keys and values: what it keeps was sealed before it came.
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { CredentialKey, CredentialRows, SealedCredential } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';
import { toFailure } from '../store-failure.ts';
import { findMachineFolder, type MachineSite, prepareMachineFolder } from './machine-folder.ts';

const ENDING = '.json';

/** More than any credential; what is larger, or no file at all, is damaged. */
const MAX_BYTES = 16 * 1024 * 1024;

export function createCredentialFiles(site: MachineSite): CredentialRows {
  const folder = () => join(findMachineFolder(site), 'credentials');
  const fileOf = ({ provider, owner }: CredentialKey): string => {
    if (owner !== '' || !/^[a-z][a-z0-9_-]*$/.test(provider))
      throw fail('usage', 'Cannot keep the credential: it is not one of the system');
    return join(folder(), `${provider}${ENDING}`);
  };
  return {
    async put(row) {
      const file = fileOf(row);
      try {
        prepareMachineFolder(findMachineFolder(site));
        prepareMachineFolder(folder());
        replaceFile(file, `${JSON.stringify(row)}\n`);
        syncFolder(folder());
      } catch (thrown) {
        throw toFailure(thrown, 'Cannot keep the credential');
      }
    },
    get: async (key) => readRow(fileOf(key), key.provider),
    async list() {
      const names = namesIn(folder()).filter((name) => name.endsWith(ENDING));
      return names.sort().flatMap((name) => {
        const provider = name.slice(0, -ENDING.length);
        return readRow(join(folder(), name), provider) ?? [];
      });
    },
    async remove(key) {
      const file = fileOf(key);
      try {
        rmSync(file);
        syncFolder(folder());
        return true;
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return false;
        throw toFailure(thrown, 'Cannot remove the credential');
      }
    },
  };
}

/**
 * By its file: what the text says about itself is held against that when it is opened. A damaged file is answered as
 * well, and nothing opens it: one must not hide the others.
 */
function readRow(file: string, provider: string): SealedCredential | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (!stat.isFile() || stat.size > MAX_BYTES) return toRow(provider, {});
    return toRow(provider, JSON.parse(readFileSync(descriptor, 'utf8')));
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (thrown instanceof SyntaxError || code === 'ELOOP') return toRow(provider, {});
    throw toFailure(thrown, `Cannot read the credential of "${provider}"`);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function toRow(provider: string, given: unknown): SealedCredential {
  const { fields, createdTs, updatedTs, keyId, box } = (given ?? {}) as Partial<SealedCredential>;
  const time = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : 0);
  return {
    provider,
    owner: '',
    fields: Array.isArray(fields) ? fields.map(String) : [],
    createdTs: time(createdTs),
    updatedTs: time(updatedTs),
    keyId: String(keyId ?? ''),
    box: String(box ?? ''),
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw toFailure(thrown, 'Cannot list the credentials');
  }
}

function replaceFile(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.tmp`;
  rmSync(temporary, { force: true });
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
