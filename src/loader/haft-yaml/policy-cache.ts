// Owns: checked policies kept beside the workspace's state, so that a warm start loads no YAML library.
// Refuses: what depends on the machine: that is checked again at each load.
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { PolicyFile } from '../../contract/policy.ts';
import { readOwnCache, writeOwnCache } from '../own-cache.ts';

/** To be counted up whenever a file that was good would now be read otherwise or refused. */
const FORMAT = 5;

/** A policy whose text was checked. */
export interface CheckedPolicy {
  readonly file: PolicyFile;
  readonly lines: { readonly [path: string]: number };
  readonly columns: { readonly [path: string]: number };
  readonly warnings: readonly Diagnostic[];
}

export function readCachedPolicy(folder: string, sha256: string): CheckedPolicy | undefined {
  return readOwnCache(folder, sha256, FORMAT);
}

export function writeCachedPolicy(
  folder: string,
  sha256: string,
  { file, lines, columns, warnings }: CheckedPolicy,
): void {
  writeOwnCache<CheckedPolicy>(folder, sha256, FORMAT, { file, lines, columns, warnings });
}

/** The policy that was loaded last, known by its bytes: to hash them costs a cold start 2 ms. */
interface LastPolicy extends CheckedPolicy {
  readonly sha256: string;
  readonly bytes: string;
}

export function readLastPolicy(folder: string, bytes: Uint8Array): LastPolicy | undefined {
  const last = readOwnCache<LastPolicy>(folder, 'last', FORMAT);
  return last?.bytes === asText(bytes) ? last : undefined;
}

export function writeLastPolicy(
  folder: string,
  bytes: Uint8Array,
  sha256: string,
  { file, lines, columns, warnings }: CheckedPolicy,
): void {
  const last = { sha256, bytes: asText(bytes), file, lines, columns, warnings };
  writeOwnCache<LastPolicy>(folder, 'last', FORMAT, last);
}

/** One character for each byte. */
const asText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
