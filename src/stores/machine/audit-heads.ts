// Owns: how far the audit of each workspace was seen to come: one small file each, in the folder of this machine's user.
// Refuses: to forget what it saw: a chain that lacks it is noted beside it, or not at all. Only a person starts anew.
import { constants, existsSync, fstatSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isDigest } from '../../base/digest.ts';
import type { AuditHead, AuditProgress } from '../../contract/store.ts';
import { NO_WAIT, withFile } from '../state-files.ts';
import {
  fileNameOf,
  findMachineFiles,
  type MachineFiles,
  type MachineSite,
  namesOf,
} from './machine-file.ts';

export interface AuditRecord {
  /** The workspace. */
  readonly folder: string;
  /** The hash of the chain's first row. */
  readonly chain: string;
  readonly head: AuditHead;
  /** The furthest head that the chain had and has no more: it was put back to an earlier state, and went on from there. */
  readonly lost?: AuditHead;
}

export interface AuditHeads {
  /** Where it is kept; undefined where there is no folder for it outside of the workspace. */
  readonly file: string | undefined;
  /** Undefined where there is none that counts: a damaged one, or one that others can write, is none. */
  read(): AuditRecord | undefined;
  /** What the chain should have now goes into the record; what contradicts the record leaves it as it is. */
  keep(progress: AuditProgress): void;
  /** As a person says: this is the audit, whatever was kept. Without a chain nothing is kept. */
  accept(audit: { readonly chain: string; readonly head: AuditHead } | undefined): void;
  /** Records of this chain whose workspace is no longer where it was: it was moved. */
  movedFrom(chain: string): readonly AuditRecord[];
}

const MAX_BYTES = 64 * 1024;

export function openAuditHeads(site: MachineSite): AuditHeads {
  const { workspace } = site;
  const files = findMachineFiles(site, 'heads');
  const name = fileNameOf(workspace);
  const file = files?.pathOf(name);
  // Not synced, as below.
  const create = (record: Omit<AuditRecord, 'folder'>) =>
    files?.replace(name, bytesOf({ folder: workspace, ...record }), { durable: false });
  const read = () => {
    const record = files && readRecord(files, name);
    return record?.folder === workspace ? record : undefined;
  };
  const movedFrom = (chain: string) =>
    files ? namesOf(files).flatMap((one) => movedAway(files, one, chain)) : [];
  return {
    file,
    read,
    keep(progress) {
      if (file === undefined) return;
      const known = read();
      // A workspace that was moved here is held against what was kept where it was.
      const before = known ?? furthest(movedFrom(progress.chain));
      const next = nextRecord(before, progress) ?? (known || !before ? undefined : unmoved(before, progress));
      if (!next) return;
      if (known) overwrite(file, { folder: workspace, ...next });
      else create(next);
    },
    accept(audit) {
      if (audit) create(audit);
      else files?.remove(name);
      for (const old of audit ? movedFrom(audit.chain) : []) files?.remove(fileNameOf(old.folder));
    },
    movedFrom,
  };
}

/** Undefined where the record stays as it is. */
function nextRecord(
  known: AuditRecord | undefined,
  { chain, since, head, hashOf }: AuditProgress,
): Omit<AuditRecord, 'folder'> | undefined {
  if (!known) return { chain, head };
  // Another chain: the database was emptied or replaced.
  if (known.chain !== chain) return undefined;
  const { lost } = known;
  if (hashOf(known.head.count) === known.head.hash)
    return known.head.count < head.count ? { chain, head, ...(lost ? { lost } : {}) } : undefined;
  // Not there already when this process came: put back to an earlier state, or cut, which looks the same.
  if (known.head.count > since.count)
    return { chain, head, lost: lost && lost.count > known.head.count ? lost : known.head };
  // Written over: nothing that is done to a workspace by its owner does that.
  return undefined;
}

const furthest = (records: readonly AuditRecord[]): AuditRecord | undefined =>
  records.toSorted((a, b) => b.head.count - a.head.count)[0];

/** What was kept elsewhere holds, and there is nothing new: it is kept here as it is. */
const unmoved = (
  { chain, head, lost }: AuditRecord,
  { hashOf }: AuditProgress,
): Omit<AuditRecord, 'folder'> | undefined =>
  hashOf(head.count) === head.hash ? { chain, head, ...(lost ? { lost } : {}) } : undefined;

function movedAway(files: MachineFiles, name: string, chain: string): readonly AuditRecord[] {
  const record = readRecord(files, name);
  const counts = record?.chain === chain && name === fileNameOf(record.folder);
  return counts && !existsSync(join(record.folder, '.haft')) ? [record] : [];
}

/** A file is read while another process writes it at most a few times in a row. */
const LOOKS = 3;

function readRecord(files: MachineFiles, name: string): AuditRecord | undefined {
  try {
    for (let time = 0; time < LOOKS; time++) {
      const looked = files.read(name, { most: MAX_BYTES, own: true });
      if (!looked || looked === 'damaged') return undefined;
      const record = parseRecord(looked.text);
      if (record !== 'torn') return record;
    }
  } catch {}
  return undefined;
}

function parseRecord(text: string): AuditRecord | 'torn' {
  try {
    const { begin, end, ...record } = JSON.parse(text);
    const { folder, chain, head, lost } = record;
    const fits = typeof folder === 'string' && isDigest(chain) && isHead(head);
    return fits && begin === end && (lost === undefined || isHead(lost)) ? record : 'torn';
  } catch {
    return 'torn';
  }
}

const isHead = (value: unknown): value is AuditHead => {
  const { count, hash } = (value ?? {}) as Partial<AuditHead>;
  return Number.isSafeInteger(count) && count! > 0 && isDigest(hash);
};

const BLOCK = 1024;

/**
 * The count stands first and last, so that half of one record and half of another are not taken for a third. With spaces up to
 * a size that the next one has as well, and that covers the one before.
 */
function bytesOf(record: AuditRecord, coverBytes = 0): Buffer {
  const { count } = record.head;
  const text = JSON.stringify({ begin: count, ...record, end: count });
  const blocks = Math.ceil(Math.max(Buffer.byteLength(text) + 1, coverBytes) / BLOCK);
  const bytes = Buffer.alloc(blocks * BLOCK, ' ');
  bytes.write(text);
  bytes.write('\n', bytes.length - 1);
  return bytes;
}

/**
 * In place, in one write of one block, and not synced: after a power cut an older one is as good. Measured: 10 µs, where
 * putting a new file in its place is a millisecond on ext4, which sees to it that a replaced file is on the disk.
 */
function overwrite(file: string, record: AuditRecord): void {
  withFile(file, constants.O_WRONLY | NO_WAIT, (descriptor) =>
    writeSync(descriptor, bytesOf(record, fstatSync(descriptor).size)),
  );
}
