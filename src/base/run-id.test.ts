// Owns: the golden run id. A red pin means "decide", not "update": every stored run is keyed by it.
// Refuses: to use the code under test for the expected value.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { paramsHash, runId } from './run-id.ts';

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

describe('runId', () => {
  const params = { dest: 'out/é', argv: ['wc', '-l'], env: {}, count: 1.5 };
  const policyHash = '0'.repeat(64);

  it('is the pinned id, which a hand-written preimage gives too', () => {
    const canonical = '{"argv":["wc","-l"],"count":1.5,"dest":"out/é","env":{}}';
    const byHand = sha256(`haft1 9 params/v1 57 ${canonical}`);
    assert.equal(paramsHash(params), byHand);

    const preimage = `{"contractVersion":"v1","paramsHash":"${byHand}","policyHash":"${policyHash}","tool":"text.count_lines"}`;
    const id = runId({ tool: 'text.count_lines', contractVersion: 'v1', policyHash, paramsHash: byHand });
    assert.equal(id, `run_${sha256(`haft1 6 run/v1 ${preimage.length} ${preimage}`)}`);
    assert.equal(id, 'run_aef438b8738b0b30c30c9b6699954547f916d05eb71f0842bfaeb82ea58ac4fa');
  });

  it('has the platform in it; without one it is the id that earlier versions gave', () => {
    const key = {
      tool: 'text.count_lines',
      contractVersion: 'v1',
      policyHash,
      paramsHash: paramsHash(params),
    };
    const preimage = `{"contractVersion":"v1","paramsHash":"${key.paramsHash}","platform":"linux/x64","policyHash":"${policyHash}","tool":"text.count_lines"}`;
    const id = runId({ ...key, platform: 'linux/x64' });
    assert.equal(id, `run_${sha256(`haft1 6 run/v2 ${preimage.length} ${preimage}`)}`);
    assert.equal(id, 'run_5f4cf1ba9ef3ab29d3a892ee59a6023b81ddde7b7de47c988f2ce4964a0578cb');
    assert.equal(runId(key), 'run_aef438b8738b0b30c30c9b6699954547f916d05eb71f0842bfaeb82ea58ac4fa');
  });

  it('changes with each of the five fields and with nothing else', () => {
    const key = { tool: 'a', contractVersion: 'v1', policyHash, paramsHash: paramsHash(params) };
    const others = [
      { ...key, tool: 'b' },
      { ...key, contractVersion: 'v2' },
      { ...key, policyHash: '1'.repeat(64) },
      { ...key, paramsHash: paramsHash({ ...params, count: 2 }) },
      { ...key, platform: 'linux/x64' },
      { ...key, platform: 'linux/arm64' },
    ];
    assert.equal(new Set([key, ...others].map(runId)).size, 7);
    assert.equal(runId({ ...key, attempt: 2 } as typeof key), runId(key));
  });
});

describe('paramsHash', () => {
  it('refuses params without a canonical form', () => {
    assert.throws(() => paramsHash({ when: new Date(0) }), { reason: 'input.not_canonical', path: '/when' });
  });
});
