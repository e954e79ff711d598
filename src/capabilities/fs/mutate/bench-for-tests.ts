// Owns: a workspace with a few files, and edits of it that are checked by being taken back, for tests of mutations.
// Refuses: to know a store; a test brings the real one.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Change, Edit } from '../../../contract/capability.ts';
import type { ObjectStore } from '../../../contract/object-store.ts';
import { createFsCapability } from '../handle.ts';
import { isTempName } from '../root.ts';
import { createTestScope, type TestScope, type TestScopeOptions } from '../scope-for-tests.ts';

export interface TestBench {
  /** The folder around it all, with `outside/o` in it. */
  readonly base: string;
  /** The workspace: `a`, `d/x` (0755), `d/e/y`, and `d/link` to `x`. */
  readonly ws: string;
  readonly objects: ObjectStore;
  put(name: string, text: string): void;
  tree(folder?: string): Record<string, string>;
  run(edits: Edit[], options?: TestScopeOptions): Promise<{ changes: readonly Change[]; scope: TestScope }>;
  /** The reason against the edits. A preview must have the same, and nothing may have changed. */
  refused(edits: Edit[], options?: TestScopeOptions): Promise<string>;
  /** Makes the edits, takes them back, makes them again and takes them back again. */
  roundTrip(edits: Edit[], options?: TestScopeOptions): Promise<readonly Change[]>;
  close(): void;
}

export const bytes = (text: string) => new TextEncoder().encode(text);

export const edit = {
  write: (name: string, text: string, more: object = {}): Edit => ({
    op: 'write',
    path: name,
    bytes: bytes(text),
    ...more,
  }),
  move: (from: string, to: string, overwrite = false): Edit => ({ op: 'move', from, to, overwrite }),
  copy: (from: string, to: string, more: object = {}): Edit => ({
    op: 'copy',
    from,
    to,
    overwrite: false,
    ...more,
  }),
  remove: (name: string, more: object = {}): Edit => ({
    op: 'delete',
    path: name,
    recursive: false,
    force: false,
    ...more,
  }),
  revert: (changes: readonly Change[]): Edit[] =>
    changes.toReversed().map((change) => ({ op: 'revert', change })),
};

export function createTestBench(openObjects: (folder: string) => ObjectStore, exact = true): TestBench {
  const open = createFsCapability({ exact });
  const base = fs.realpathSync.native(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-mutate-')));
  const ws = path.join(base, 'ws');
  const objects = openObjects(path.join(base, 'objects'));
  const put = (name: string, text: string) => fs.writeFileSync(path.join(ws, name), text);
  const tree = (folder = ws) => treeOf(folder, '');
  fs.mkdirSync(path.join(ws, 'd/e'), { recursive: true });
  fs.mkdirSync(path.join(base, 'outside'), { recursive: true });
  fs.writeFileSync(path.join(base, 'outside/o'), 'OUTSIDE');
  put('a', 'one');
  put('d/x', 'ex');
  put('d/e/y', 'why');
  fs.chmodSync(path.join(ws, 'd/x'), 0o755);
  fs.symlinkSync('x', path.join(ws, 'd/link'));

  const run: TestBench['run'] = async (edits, options) => {
    const scope = createTestScope(ws, objects, options);
    const changes = await open(scope).mutate(edits);
    return { changes, scope };
  };
  const preview = (edits: Edit[], options?: TestScopeOptions) =>
    open(createTestScope(ws, objects, options)).preview(edits);

  return {
    base,
    ws,
    objects,
    put,
    tree,
    run,
    async refused(edits, options = {}) {
      const was = tree();
      const previewed = await preview(edits, options).then(() => 'none', reasonOf);
      const reason = await run(edits, options).then(() => 'none', reasonOf);
      assert.deepEqual(tree(), was, 'a refusal leaves everything as it was');
      if (!options.intend) assert.equal(previewed, reason, 'a preview refuses as the real call does');
      return reason;
    },
    async roundTrip(edits, options) {
      const was = tree();
      const previewed = await preview(edits, options);
      assert.deepEqual(tree(), was, 'a preview changes nothing');
      const { changes, scope } = await run(edits, options);
      assert.deepEqual(
        previewed,
        changes.map((change) => ({ ...change, stored: false })),
      );
      assert.deepEqual(scope.intents, [changes]);
      const recorded: Change[] = JSON.parse(JSON.stringify(changes));
      const now = tree();
      assert.deepEqual(temps(now), []);
      const { changes: back } = await run(edit.revert(recorded), options);
      assert.deepEqual(tree(), was);
      await run(edit.revert(back), options);
      assert.deepEqual(tree(), now, 'taking back what was taken back leads forward again');
      await run(edit.revert(recorded), options);
      assert.deepEqual(tree(), was);
      return changes;
    },
    close: () => fs.rmSync(base, { recursive: true, force: true }),
  };
}

export function reasonOf(thrown: unknown): string {
  return (thrown as { reason?: string }).reason ?? String(thrown);
}

/** The entries that are on their way into or out of place. */
export function temps(tree: Record<string, string>): string[] {
  return Object.keys(tree).filter((name) => isTempName(path.basename(name)));
}

/** `path → permission bits and content, target or folder`. */
function treeOf(folder: string, prefix: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    const rel = prefix + entry.name;
    const mode = (fs.lstatSync(full).mode & 0o7777).toString(8);
    if (entry.isSymbolicLink()) found[rel] = `-> ${fs.readlinkSync(full)}`;
    else if (entry.isFile()) found[rel] = `${mode} ${fs.readFileSync(full, 'utf8')}`;
    else if (entry.isDirectory()) Object.assign(found, { [rel]: `${mode} /` }, treeOf(full, `${rel}/`));
    else found[rel] = 'special';
  }
  return found;
}
