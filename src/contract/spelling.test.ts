import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUILTIN_TOOLS } from '../tools/index.ts';
import { auditRowToWire, toolToWire } from './spelling.ts';
import type { AuditRow } from './store.ts';

const ROW: AuditRow = {
  seq: 1,
  phase: 'outcome',
  callId: 'call_1',
  requestId: 'req_1',
  tool: 'fs_move',
  contract: 'v1',
  argsHash: '',
  startTs: 1,
  endTs: 2,
  session: 'sess_1',
  attribution: { taskId: 42 },
  decision: { verdict: 'allow', rule: 'tools.default' },
  effects: [],
  outcome: 'ok',
  errors: [],
  policyHash: '',
  runId: null,
  changes: [{ path: 'b', before: null, after: null, stored: true, movedFrom: 'a' }],
  bytes: 3,
  facts: null,
  process: 'p',
  prev: '',
  hash: '',
};

describe('auditRowToWire', () => {
  it("spells the contract's names in snake_case, and leaves what callers wrote", () => {
    const wire = auditRowToWire(ROW);
    assert.deepEqual(
      Object.keys(wire).filter((name) => /[A-Z]/.test(name)),
      [],
    );
    assert.deepEqual([wire.call_id, wire.args_hash, wire.start_ts, wire.end_ts], ['call_1', '', 1, 2]);
    assert.deepEqual(wire.attribution, { taskId: 42 });
    assert.deepEqual(wire.changes, [{ path: 'b', before: null, after: null, stored: true, moved_from: 'a' }]);
  });
});

describe('toolToWire', () => {
  it('tells everything of a contract that is data', () => {
    for (const tool of BUILTIN_TOOLS) {
      const wire = toolToWire(tool);
      assert.equal(wire.input_schema, tool.input);
      assert.deepEqual(wire.limits, {
        timeout_ms: tool.limits.timeoutMs,
        max_input_bytes: tool.limits.maxInputBytes,
        max_output_bytes: tool.limits.maxOutputBytes,
      });
    }
  });
});
