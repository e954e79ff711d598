// Owns: that every guarantee holds on this machine, and that a report says what to do when one does not.
// Refuses: to repeat the attempts; `escape.test.ts` tries many more.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PROBES, runProbes } from './probes.ts';

describe('runProbes', () => {
  it('finds every guarantee kept', async () => {
    const reports = await runProbes();
    assert.equal(reports.length, PROBES.length + 1);
    assert.deepEqual(
      reports.filter((report) => !report.ok),
      [],
    );
    assert.ok(reports.every((report) => report.evidence !== ''));
  });

  it('has a different name and some advice for every guarantee', () => {
    assert.equal(new Set(PROBES.map((probe) => probe.name)).size, PROBES.length);
    assert.ok(PROBES.every((probe) => probe.fix.length > 10));
  });
});
