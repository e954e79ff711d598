// Owns: packs in temporary folders, written from texts, for tests.
// Refuses: to outlive the tests.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';

/** The smallest manifest that says all that is required. */
export const MANIFEST: { readonly [key: string]: string } = {
  id: 'demo.tool',
  version: '1.0.0',
  deterministic: 'false',
  timeoutMs: '1000',
  limits: '{ maxInputBytes: 100, maxOutputBytes: 200 }',
  inputSchema: '{ type: object }',
  outputSchema: '{ type: object }',
  execution: '{ kind: cli, cmd: [echo] }',
};

/** The text of a manifest in which some keys say something else; null leaves one out. A value may have lines of its own. */
export function manifest(change: { readonly [key: string]: string | null } = {}): string {
  const keys = { ...MANIFEST, ...change };
  return Object.entries(keys)
    .flatMap(([key, value]) =>
      value === null ? [] : [`${key}:${value.startsWith('\n') ? '' : ' '}${value}\n`],
    )
    .join('');
}

/** A folder with these files, removed when the tests of the file are over. */
export function makePack(files: { readonly [path: string]: string | Uint8Array }): string {
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-pack-')));
  after(() => rmSync(folder, { recursive: true, force: true }));
  addFiles(folder, files);
  return folder;
}

export function addFiles(folder: string, files: { readonly [path: string]: string | Uint8Array }): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}
