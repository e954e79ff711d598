import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fail } from '../contract/errors.ts';
import type { AuditStore } from '../contract/store.ts';
import { openSqliteEnvironment } from '../stores/sqlite/environment-for-tests.ts';
import { entry } from '../testing/store/entries.ts';
import { createLateRows } from './record.ts';

/** An audit on a disk that can be full. */
async function inAudit(test: (audit: AuditStore, disk: { full: boolean }) => Promise<void>): Promise<void> {
  const { store, close } = await openSqliteEnvironment();
  const disk = { full: false };
  const refusing =
    <A extends unknown[], T>(write: (...given: A) => Promise<T>) =>
    (...given: A): Promise<T> =>
      disk.full
        ? Promise.reject(fail('store.unwritable', 'Cannot record the call: no space'))
        : write(...given);
  try {
    const { audit } = store;
    await test({ ...audit, append: refusing(audit.append), appendSoon: refusing(audit.appendSoon) }, disk);
  } finally {
    await close();
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('createLateRows', () => {
  it('writes a row after its answer and tells what was used', () =>
    inAudit(async (audit) => {
      const late = createLateRows(audit);
      const used = await new Promise((resolve) => late.write(entry(), resolve));
      assert.deepEqual((used as { calls: number }).calls, 1);
      assert.deepEqual([late.owes, late.mayAnswerFirst], [false, true]);
      assert.equal((await audit.head()).count, 1);
    }));

  it('owes what could not be written, says so, and writes it once it can', () =>
    inAudit(async (audit, disk) => {
      const late = createLateRows(audit);
      disk.full = true;
      late.write(entry({ callId: 'call_1' }), () => assert.fail('it was not written'));
      late.write(entry({ callId: 'call_2' }), () => assert.fail('it was not written'));
      await settled();
      assert.deepEqual([late.owes, late.mayAnswerFirst], [true, false]);
      await assert.rejects(late.catchUp(), { reason: 'store.unwritable' });
      assert.deepEqual([late.owes, late.mayAnswerFirst], [true, false]);
      disk.full = false;
      await late.catchUp();
      assert.deepEqual([late.owes, late.mayAnswerFirst], [false, true]);
      assert.deepEqual(
        (await audit.rows({})).map((row) => row.callId),
        ['call_1', 'call_2'],
      );
    }));

  it('lets nobody answer first for ever while the event loop does not turn', () =>
    inAudit(async (audit) => {
      const late = createLateRows(audit);
      let answered = 0;
      for (; late.mayAnswerFirst && answered < 1000; answered++) late.write(entry(), () => {});
      assert.equal(answered, 64);
      await audit.head();
      await settled();
      assert.equal(late.mayAnswerFirst, true);
    }));
});
