// Owns: the key of this host (32 random bytes in HAFT_KEY, or in a file), and beside it the system's credentials, sealed: one file for each provider.
// Refuses: a key that is short, or in a file that others can read; to make a second one over the first; and credentials of users, which belong to a workspace.
import { fstatSync, fsyncSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ignoreErrors } from '../../base/ignore-errors.ts';
import type { CredentialKey, CredentialRows, SealedCredential } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';
import { NO_WAIT, withFile } from '../state-files.ts';
import { toFailure } from '../store-failure.ts';
import type { MachineFiles, MachineSite } from './machine-file.ts';
import { findMachineFolder, openMachineFiles, prepareMachineFolder } from './machine-file.ts';

const KEY_BYTES = 32;

/** The key, or undefined where none was made yet. */
export function readHostKey(site: MachineSite): Uint8Array | undefined {
  const given = site.env.HAFT_KEY;
  return given ? decode(given, 'HAFT_KEY') : readKeyFile(fileOf(site));
}

/** The key; made on its first use. Of two processes that make one at once, both get the same. */
export function ensureHostKey(site: MachineSite): Uint8Array {
  const known = readHostKey(site);
  if (known) return known;
  try {
    makeKeyFile(site);
  } catch (thrown) {
    throw toFailure(thrown, 'Cannot make the key of the credentials');
  }
  return readHostKey(site)!;
}

const fileOf = (site: MachineSite): string => join(findMachineFolder(site), 'key');

function readKeyFile(file: string): Uint8Array | undefined {
  try {
    return withFile(file, NO_WAIT, (descriptor) => {
      const stat = fstatSync(descriptor);
      const { mode, uid, size } = stat;
      if (!stat.isFile()) throw fail('credentials.key', 'Cannot use the key file: it is not a regular file');
      if ((mode & 0o077) !== 0 || uid !== (process.getuid?.() ?? uid)) {
        throw fail(
          'credentials.key',
          `Cannot use the key file: it is not its owner's alone; chmod 600 the file`,
        );
      }
      return decode(size > 1024 ? '' : readFileSync(descriptor, 'utf8'), 'the key file');
    });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'ELOOP') throw fail('credentials.key', 'Cannot use the key file: it is a link');
    if (code === 'EACCES') throw fail('credentials.key', 'Cannot read the key file: permission denied');
    throw thrown;
  }
}

/** A link of the finished file either is the key, or there was one already. */
function makeKeyFile(site: MachineSite): void {
  const file = fileOf(site);
  prepareMachineFolder(findMachineFolder(site));
  const { randomBytes } = process.getBuiltinModule('node:crypto');
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    withFile(temporary, 'wx', (descriptor) => {
      writeFileSync(descriptor, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
      fsyncSync(descriptor);
    });
    linkSync(temporary, file);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function decode(text: string, source: string): Uint8Array {
  const trimmed = text.trim();
  const key = /^[A-Za-z0-9+/_-]+={0,2}$/.test(trimmed) ? Buffer.from(trimmed, 'base64') : Buffer.alloc(0);
  if (key.length === KEY_BYTES) return key;
  throw fail(
    'credentials.key',
    `Cannot use the key in ${source}: it takes ${KEY_BYTES} bytes as base64; openssl rand -base64 ${KEY_BYTES} makes one`,
  );
}

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
