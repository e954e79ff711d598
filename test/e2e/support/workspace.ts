// Owns: throw-away workspaces for tests, with files in them; the policy among them is trusted, as its writer would.
// Refuses: to leave one behind.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { trustForTests } from '../../../src/preset/trust/trust-for-tests.ts';

export interface Workspace {
  readonly root: string;
  path(rel: string): string;
  put(rel: string, content: string | Uint8Array): void;
  remove(): void;
}

export function makeWorkspace(files: Readonly<Record<string, string | Uint8Array>> = {}): Workspace {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-e2e-')));
  const put = (rel: string, content: string | Uint8Array) => {
    mkdirSync(dirname(join(root, rel)), { recursive: true });
    writeFileSync(join(root, rel), content);
    if (rel === 'haft.yaml' || rel === 'haft.lock') trustForTests(root);
  };
  for (const [rel, content] of Object.entries(files)) put(rel, content);
  return {
    root,
    put,
    path: (rel) => join(root, rel),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}
