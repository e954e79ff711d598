// Owns: how trust is kept: bound to the folder, its owner's alone, never in a workspace.
// Refuses: what a record means; preset/trust and test/e2e/trust.test.ts have that.
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openTrustFiles } from './trust-files.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'haft-trust-')));
after(() => rmSync(folder, { recursive: true }));
const RECORD = { policy: { version: 1 }, sha256: 'ab', lock: null, trustedTs: 1 } as const;

function site(name: string) {
  const workspace = join(folder, name);
  mkdirSync(workspace, { recursive: true });
  return { workspace, env: { XDG_CONFIG_HOME: join(folder, 'config') } };
}

const fileOf = (files: ReturnType<typeof openTrustFiles>) => join(files.file!.folder, files.file!.name);

describe('the files of trust', () => {
  it('keep one record for each folder, for their owner alone', () => {
    const one = openTrustFiles(site('one'));
    const two = openTrustFiles(site('two'));
    assert.equal(one.read(), undefined);
    one.write(RECORD);
    assert.deepEqual(one.read(), { ...RECORD, folder: join(folder, 'one') });
    assert.equal(two.read(), undefined);
    two.write({ ...RECORD, sha256: 'cd' });
    assert.deepEqual(
      one.list().map(({ sha256 }) => sha256),
      ['ab', 'cd'],
    );
    assert.equal(statSync(fileOf(one)).mode & 0o777, 0o600);
    assert.equal(statSync(one.file!.folder).mode & 0o777, 0o700);
    assert.deepEqual([one.remove(), one.remove(), one.read()], [true, false, undefined]);
  });

  it('do not count when another user could have written them, or they are not what this program writes', () => {
    const files = openTrustFiles(site('odd'));
    const file = fileOf(files);
    files.write(RECORD);
    const spoilt: Record<string, () => void> = {
      'writable by others': () => chmodSync(file, 0o666),
      "another user's": () => chownSync(file, 65534, 65534),
      'a link': () => {
        renameSync(file, `${file}.x`);
        symlinkSync(`${file}.x`, file);
      },
      'a folder': () => mkdirSync(file),
      'no JSON': () => writeFileSync(file, '{'),
      'no record': () => writeFileSync(file, '{"format":1,"policy":null}'),
      "another folder's": () =>
        writeFileSync(file, JSON.stringify({ format: 1, ...RECORD, folder: '/else' })),
    };
    for (const [name, spoil] of Object.entries(spoilt)) {
      rmSync(file, { recursive: true, force: true });
      files.write(RECORD);
      assert.ok(files.read());
      if (name === 'a folder') rmSync(file);
      spoil();
      assert.equal(files.read(), undefined, name);
    }
  });

  it('are never kept where tools of the workspace work', () => {
    const { workspace } = site('inside');
    for (const env of [{ XDG_CONFIG_HOME: join(workspace, 'x') }, { HOME: workspace }, {}]) {
      const files = openTrustFiles({ workspace, env });
      assert.equal(files.file, undefined);
      assert.equal(files.read(), undefined);
      assert.throws(() => files.write(RECORD), { reason: 'usage' });
    }
  });
});
