import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { keepLog } from './attempt-log.ts';
import type { EngineApi } from './engine-api.ts';

describe('keepLog', () => {
  it('leaves the log alone that belongs to an end recorded meanwhile', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'haft-attempt-log-'));
    const files = { log: join(folder, 'log'), end: join(folder, 'end.json') };
    // As Podman answers while the container is being removed: no log at all, and no failure.
    const removing: Pick<EngineApi, 'stream'> = {
      async stream() {
        await writeFile(files.log, 'began\n');
        await writeFile(files.end, '{}');
        return 200;
      },
    };
    try {
      assert.equal(await keepLog(removing as EngineApi, 'name', files, 1000), undefined);
      assert.equal(await readFile(files.log, 'utf8'), 'began\n');
      assert.deepEqual((await readdir(folder)).sort(), ['end.json', 'log']);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
