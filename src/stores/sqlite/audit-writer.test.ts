import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { AuditProgress } from '../../contract/store.ts';
import { entry } from '../../testing/store/entries.ts';
import { GENESIS } from '../audit-row.ts';
import { openSqliteStore } from './open-sqlite-store.ts';

describe('createHeadWatch', () => {
  let folder: string;
  let told: AuditProgress[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'haft-watch-'));
    told = [];
  });
  afterEach(() => {
    mock.timers.reset();
    rmSync(folder, { recursive: true });
  });
  const open = (onProgress = (progress: AuditProgress) => void told.push(progress)) =>
    openSqliteStore({ folder: join(folder, '.haft'), process: '1::', clock: Date, onProgress });
  const spans = () => told.map(({ since, head }) => [since.count, head.count]);

  it('tells at the end how far the chain came, and from where this process had it', async () => {
    const one = await open();
    await one.audit.append(entry(), true);
    const two = await open();
    await two.audit.append(entry({ callId: 'call_2' }), true);
    await one.audit.append(entry({ callId: 'call_3' }), true);
    await two.close();
    await one.close();
    assert.deepEqual(spans(), [
      [1, 3],
      [0, 3],
    ]);
    const [{ chain, since, head }] = told as [AuditProgress];
    assert.equal(chain, since.hash, 'row 1 is where the second one began');
    assert.match(head.hash, /^[0-9a-f]{64}$/);
    assert.equal(told[1]!.since.hash, GENESIS);
  });

  it('tells nothing where nothing was appended', async () => {
    const store = await open();
    await store.audit.head();
    await store.close();
    assert.deepEqual(told, []);
  });

  it('tells every five seconds at most while it goes on', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const store = await open();
    for (let row = 1; row <= 3; row++) await store.audit.append(entry({ callId: `call_${row}` }), true);
    mock.timers.tick(4999);
    assert.deepEqual(told, []);
    mock.timers.tick(1);
    assert.deepEqual(spans(), [[0, 3]]);
    mock.timers.tick(60_000);
    assert.equal(told.length, 1);
    await store.audit.append(entry({ callId: 'call_4' }), true);
    mock.timers.tick(5000);
    assert.deepEqual(spans(), [
      [0, 3],
      [3, 4],
    ]);
    await store.close();
    assert.equal(told.length, 2);
  });

  it('fails nothing where it cannot be kept', async () => {
    const store = await open(() => {
      throw new Error('read-only');
    });
    await store.audit.append(entry(), true);
    await store.close();
    const again = await open();
    assert.equal((await again.audit.head()).count, 1);
    await again.close();
  });
});
