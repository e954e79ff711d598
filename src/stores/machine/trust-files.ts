// Owns: the policies that this user trusts on this machine: one small file for each workspace, beside the key.
// Refuses: a record that another user could have written, and one that lies where a workspace's tools work.
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
import { sha256Hex } from '../../base/digest.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import type { TrustRecord } from '../../contract/trust.ts';
import { toFailure } from '../store-failure.ts';
import { findMachineFolder, type MachineSite, prepareMachineFolder } from './machine-folder.ts';

const FORMAT = 1;
const MAX_BYTES = 4 * 1024 * 1024;

export interface TrustFiles {
  /** Where the record is or would be; undefined where none can be kept. */
  readonly file: { readonly folder: string; readonly name: string } | undefined;
  /** Makes the folder, for whoever watches the file. Answers the file where that could be done. */
  prepare(): TrustFiles['file'];
  /** Undefined where there is none that counts: a damaged one, or one of somebody else, is none. */
  read(): TrustRecord | undefined;
  write(record: Omit<TrustRecord, 'folder'>): void;
  /** Answers whether there was one. */
  remove(): boolean;
  /** Of all workspaces, by folder. */
  list(): readonly TrustRecord[];
}

export function openTrustFiles(site: MachineSite): TrustFiles {
  const { workspace } = site;
  const name = `${sha256Hex(workspace)}.json`;
  const folder = folderOf(site);
  return {
    file: folder === undefined ? undefined : { folder, name },
    prepare() {
      try {
        if (folder === undefined) return undefined;
        prepareMachineFolder(findMachineFolder(site));
        prepareMachineFolder(folder);
        return { folder, name };
      } catch {
        return undefined;
      }
    },
    read() {
      const record = folder === undefined ? undefined : readRecord(join(folder, name));
      return record?.folder === workspace ? record : undefined;
    },
    write(record) {
      if (folder === undefined) throw nowhere();
      try {
        prepareMachineFolder(findMachineFolder(site));
        prepareMachineFolder(folder);
        replaceFile(
          join(folder, name),
          `${JSON.stringify({ format: FORMAT, ...record, folder: workspace })}\n`,
        );
      } catch (thrown) {
        throw toFailure(thrown, 'Cannot keep the trust');
      }
    },
    remove() {
      if (folder === undefined) return false;
      try {
        rmSync(join(folder, name));
        return true;
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return false;
        throw toFailure(thrown, 'Cannot revoke the trust');
      }
    },
    list() {
      const names = folder === undefined ? [] : namesIn(folder).filter((one) => one.endsWith('.json'));
      const records = names.flatMap((one) => {
        const record = readRecord(join(folder!, one));
        return record && one === `${sha256Hex(record.folder)}.json` ? [record] : [];
      });
      return records.sort((a, b) => (a.folder < b.folder ? -1 : 1));
    },
  };
}

function folderOf(site: MachineSite): string | undefined {
  try {
    return join(findMachineFolder(site), 'trust');
  } catch (thrown) {
    if (isFailure(thrown)) return undefined;
    throw thrown;
  }
}

const nowhere = () =>
  fail(
    'usage',
    'Cannot keep the trust: there is no folder for it outside of the workspace; set HOME, or XDG_CONFIG_HOME to such a folder, or give --trust SHA256 with each command',
  );

function readRecord(file: string): TrustRecord | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    const own = stat.uid === (process.geteuid?.() ?? stat.uid) && (stat.mode & 0o022) === 0;
    if (!own || !stat.isFile() || stat.size > MAX_BYTES) return undefined;
    const { format, ...record } = JSON.parse(readFileSync(descriptor, 'utf8'));
    return format === FORMAT && isRecord(record) ? record : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function isRecord(value: object): value is TrustRecord {
  const { folder, policy, sha256, lock, trustedTs } = value as Partial<Record<keyof TrustRecord, unknown>>;
  return (
    typeof folder === 'string' &&
    typeof policy === 'object' &&
    policy !== null &&
    typeof sha256 === 'string' &&
    (lock === null || typeof lock === 'string') &&
    typeof trustedTs === 'number'
  );
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function replaceFile(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.tmp`;
  rmSync(temporary, { force: true });
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
    renameSync(temporary, file);
  } finally {
    closeSync(descriptor);
  }
}
