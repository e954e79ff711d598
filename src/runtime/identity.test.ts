import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type RunKey, runId } from '../base/run-id.ts';
import type { ToolContract } from '../contract/tool.ts';
import { identifyRun } from './identity.ts';
import { explainRuns } from './runs/explain-runs.ts';

describe('identifyRun', () => {
  const tool = { id: 'count', contract: 'v1' } as unknown as ToolContract;
  const { runId: id, preimage } = identifyRun(tool, { n: 1 }, '0'.repeat(64));

  it('has the platform in the key, so that another one is another run', () => {
    assert.equal(preimage.platform, `${process.platform}/${process.arch}`);
    assert.equal(id, runId(preimage as unknown as RunKey));
    const elsewhere = { ...preimage, platform: 'plan9/mips' };
    assert.notEqual(id, runId(elsewhere as unknown as RunKey));
    assert.deepEqual(
      explainRuns(preimage, elsewhere).map(({ field }) => field),
      ['platform'],
    );
  });

  it('is told apart from a run of an earlier version, which had no platform', () => {
    const { platform: _, ...earlier } = preimage;
    assert.deepEqual(explainRuns(earlier, preimage), [
      { field: 'platform', path: '/platform', b: preimage.platform },
    ]);
  });
});
