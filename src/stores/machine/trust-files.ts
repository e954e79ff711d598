// Owns: the policies that this user trusts on this machine: one small file for each workspace, beside the key.
// Refuses: a record that another user could have written, and one that lies where a workspace's tools work.
import { succeeds } from '../../base/ignore-errors.ts';
import { fail } from '../../contract/errors.ts';
import type { TrustRecord } from '../../contract/store.ts';
import { toFailure } from '../store-failure.ts';
import {
  fileNameOf,
  findMachineFiles,
  type MachineFiles,
  type MachineSite,
  namesOf,
} from './machine-file.ts';

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
  const name = fileNameOf(workspace);
  const files = findMachineFiles(site, 'trust');
  const file = files && { folder: files.folder, name };
  return {
    file,
    prepare() {
      return succeeds(() => files?.prepare()) ? file : undefined;
    },
    read() {
      const record = files && readRecord(files, name);
      return record?.folder === workspace ? record : undefined;
    },
    write(record) {
      if (!files) throw nowhere();
      const text = `${JSON.stringify({ format: FORMAT, ...record, folder: workspace })}\n`;
      try {
        files.replace(name, text, { durable: true });
      } catch (thrown) {
        throw toFailure(thrown, 'Cannot keep the trust');
      }
    },
    remove() {
      try {
        return files?.remove(name) ?? false;
      } catch (thrown) {
        throw toFailure(thrown, 'Cannot revoke the trust');
      }
    },
    list() {
      const records = namesOf(files).flatMap((one) => {
        const record = readRecord(files!, one);
        return record && one === fileNameOf(record.folder) ? [record] : [];
      });
      return records.sort((a, b) => (a.folder < b.folder ? -1 : 1));
    },
  };
}

const nowhere = () =>
  fail(
    'usage',
    'Cannot keep the trust: there is no folder for it outside of the workspace; set HOME, or XDG_CONFIG_HOME to such a folder, or give --trust SHA256 with each command',
  );

function readRecord(files: MachineFiles, name: string): TrustRecord | undefined {
  try {
    const looked = files.read(name, { most: MAX_BYTES, own: true });
    if (!looked || looked === 'damaged') return undefined;
    const { format, ...record } = JSON.parse(looked.text);
    return format === FORMAT && isRecord(record) ? record : undefined;
  } catch {
    return undefined;
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
