import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openPackLog, readPackLog } from './pack-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'haft-log-'));
after(() => rmSync(folder, { recursive: true }));
const open = (name: string) =>
  openPackLog({ folder, name, redact: async (text) => text.replaceAll('hunter2', '***') });
const lines = (name: string, most = 100) => readPackLog(folder, name, most).map((line) => line.slice(25));

describe('openPackLog', () => {
  it('keeps lines with their time, without secrets and without what moves a cursor', async () => {
    const log = open('one');
    log.said(Buffer.from('first\nthe key is hunter2\n\u001b[2J\u001b[31mred'));
    log.said(Buffer.from(' and on\n'));
    log.note('ended with code 3');
    await log.flush();
    assert.deepEqual(lines('one'), [
      'first',
      'the key is ***',
      ' [2J [31mred and on',
      '-- ended with code 3',
    ]);
    assert.match(readPackLog(folder, 'one', 1)[0] ?? '', /^\d{4}-\d\d-\d\dT[\d:.]+Z -- ended/);
    assert.equal(statSync(join(folder, 'logs/one.log')).mode & 0o777, 0o600);
    assert.deepEqual(lines('none'), []);
  });

  it('keeps the end of a flood, and no more than so much of all', async () => {
    const log = open('flood');
    for (let round = 0; round < 40; round++) {
      for (let n = 0; n < 100; n++) log.said(Buffer.from(`${'x'.repeat(1000)}\n`));
      log.said(Buffer.from(`last of ${round}\n`));
      await log.flush();
    }
    assert.equal(lines('flood', 1)[0], 'last of 39');
    assert.ok(statSync(join(folder, 'logs/flood.log')).size < 300 * 1024);
    assert.ok(lines('flood', 10_000).some((line) => /left out/.test(line)));
  });
});
