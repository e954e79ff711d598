// Owns: the system's sealed credentials: one file for each provider, beside the key.
// Refuses: those of users, which belong to a workspace; and keys and values: what it keeps was sealed before it came.
import { ignoreErrors } from '../../base/ignore-errors.ts';
import type { CredentialKey, CredentialRows, SealedCredential } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';
import { toFailure } from '../store-failure.ts';
import { type MachineFiles, type MachineSite, openMachineFiles } from './machine-file.ts';

const ENDING = '.json';

/** More than any credential; what is larger, or no file at all, is damaged. */
const MAX_BYTES = 16 * 1024 * 1024;

export function createCredentialFiles(site: MachineSite): CredentialRows {
  const files = () => openMachineFiles(site, 'credentials');
  return {
    put: async (row) => {
      const name = nameOf(row);
      const { replace } = files();
      told('Cannot keep the credential', () => replace(name, `${JSON.stringify(row)}\n`, { durable: true }));
    },
    get: async (key) => readRow(files(), nameOf(key)),
    async list() {
      const opened = files();
      const names = told('Cannot list the credentials', () => opened.names());
      const ours = names.filter((name) => name.endsWith(ENDING)).sort();
      return ours.flatMap((name) => readRow(opened, name) ?? []);
    },
    remove: async (key) => {
      const name = nameOf(key);
      const { remove } = files();
      return told('Cannot remove the credential', () => remove(name));
    },
  };
}

function nameOf({ provider, owner }: CredentialKey): string {
  if (owner === '' && /^[a-z][a-z0-9_-]*$/.test(provider)) return `${provider}${ENDING}`;
  throw fail('usage', 'Cannot keep the credential: it is not one of the system');
}

function told<T>(action: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw toFailure(thrown, action);
  }
}

/**
 * By its file: what the text says about itself is held against that when it is opened. A damaged file is answered as
 * well, and nothing opens it: one must not hide the others.
 */
function readRow(files: MachineFiles, name: string): SealedCredential | undefined {
  const provider = name.slice(0, -ENDING.length);
  const looked = told(`Cannot read the credential of "${provider}"`, () =>
    files.read(name, { most: MAX_BYTES, own: false }),
  );
  return looked && toRow(provider, looked === 'damaged' ? {} : parsed(looked.text));
}

const parsed = (text: string): unknown => ignoreErrors(() => JSON.parse(text)) ?? {};

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
