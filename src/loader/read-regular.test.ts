import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { isNotRegular, readRegular, readRegularText } from './read-regular.ts';

const root = mkdtempSync(join(tmpdir(), 'haft-regular-'));
after(() => rmSync(root, { recursive: true }));
const at = (name: string) => join(root, name);

describe('readRegular', () => {
  it('reads a file, and one that a link leads to', () => {
    writeFileSync(at('file'), 'text');
    symlinkSync('file', at('link'));
    assert.equal(readRegular(at('file')).toString(), 'text');
    assert.equal(readRegularText(at('link')), 'text');
  });

  it('says at once that a pipe, a folder, a device and a socket are no file', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    mkdirSync(at('folder'));
    symlinkSync('/dev/zero', at('device'));
    const server = createServer().listen(at('socket'));
    await once(server, 'listening');
    for (const name of ['pipe', 'folder', 'device', 'socket'])
      assert.throws(() => readRegular(at(name)), isNotRegular, name);
    server.close();
  });

  it('says of what is not there that it is not there', () => {
    assert.throws(
      () => readRegular(at('none')),
      (thrown) => !isNotRegular(thrown) && (thrown as NodeJS.ErrnoException).code === 'ENOENT',
    );
  });
});
