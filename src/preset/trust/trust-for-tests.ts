// Owns: for tests, trust in the haft.yaml that they write themselves, as a person would give it, in a folder of this run.
// Refuses: the real ~/.config: from the moment this is loaded, this process and those it starts have another one.
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { sha256Hex } from '../../base/digest.ts';
import { lockDigest } from '../../loader/lock/lock-file.ts';
import { openTrustFiles } from '../../stores/machine/trust-files.ts';

const PREFIX = join(tmpdir(), 'haft-config-');

if (!process.env.XDG_CONFIG_HOME?.startsWith(PREFIX)) {
  const folder = mkdtempSync(PREFIX);
  process.env.XDG_CONFIG_HOME = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

/** Trusts haft.yaml of this folder as it is now; nothing happens where there is none that could be read. */
export function trustForTests(workspace: string, env: NodeJS.ProcessEnv = process.env): void {
  try {
    const bytes = readFileSync(join(workspace, 'haft.yaml'));
    const policy = parse(bytes.toString());
    const record = { policy, sha256: sha256Hex(bytes), lock: lockDigest(workspace), trustedTs: 0 };
    openTrustFiles({ env, workspace }).write(record);
  } catch {
    // A test of a file that cannot be read is about something else.
  }
}

/** What HAFT_TRUST has to be for this folder's haft.yaml, for processes that have another home. */
export function hashForTests(workspace: string): { readonly HAFT_TRUST?: string } {
  const file = join(workspace, 'haft.yaml');
  return existsSync(file) ? { HAFT_TRUST: sha256Hex(readFileSync(file)) } : {};
}

/** Takes haft.yaml away, with the trust in it: the defaults hold again. */
export function removeTrusted(file: string): void {
  rmSync(file);
  openTrustFiles({ env: process.env, workspace: realpathSync.native(dirname(file)) }).remove();
}

/** Writes `haft.yaml` into this folder, or another file of that name, and trusts it. */
export function writeTrusted(file: string, text: string): void {
  writeFileSync(file, text);
  trustForTests(realpathSync.native(dirname(file)));
}
