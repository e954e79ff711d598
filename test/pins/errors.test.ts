// Owns: the error codes and the door numbers of each reason, frozen as literals.
// Refuses: to be updated without a decision: callers depend on every one of these.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERRORS } from '../../src/contract/errors.ts';

const CODES = [
  'E_AST_EDIT',
  'E_AST_PARSE',
  'E_FILE_IO',
  'E_GIT',
  'E_HTTP',
  'E_INTERNAL',
  'E_POLICY',
  'E_SHELL',
  'E_TIMEOUT',
  'E_VALIDATION_FAIL',
];

/** The rows that callers most depend on: code, HTTP status, exit code. */
const PINNED: Readonly<Record<string, readonly [string, number, number]>> = {
  'tool.unknown': ['E_VALIDATION_FAIL', 404, 2],
  'input.schema': ['E_VALIDATION_FAIL', 422, 2],
  'input.refused': ['E_VALIDATION_FAIL', 422, 2],
  'input.too_large': ['E_VALIDATION_FAIL', 413, 2],
  'http.redirect_body': ['E_POLICY', 403, 3],
  'input.slow': ['E_TIMEOUT', 408, 4],
  'policy.denied': ['E_POLICY', 403, 3],
  'approval.pending': ['E_POLICY', 202, 75],
  'budget.exhausted': ['E_POLICY', 429, 3],
  'path.outside_workspace': ['E_POLICY', 403, 3],
  'path.protected': ['E_POLICY', 403, 3],
  'path.not_found': ['E_FILE_IO', 404, 5],
  'file.conflict': ['E_FILE_IO', 409, 5],
  'time.deadline': ['E_TIMEOUT', 504, 4],
  'time.cancelled': ['E_TIMEOUT', 499, 130],
  'artifact.unknown': ['E_VALIDATION_FAIL', 404, 2],
  'run.state': ['E_VALIDATION_FAIL', 409, 2],
  'image.unpinned': ['E_POLICY', 403, 3],
  'internal.unexpected': ['E_INTERNAL', 500, 70],
};

describe('the error table', () => {
  it('uses only the ten canonical codes', () => {
    const known = new Set(CODES);
    assert.deepEqual(
      Object.entries(ERRORS).filter(([, row]) => !known.has(row.code)),
      [],
    );
  });
  it('gives every failure a non-zero exit code and an HTTP status that is no success but for a pending approval', () => {
    for (const [reason, row] of Object.entries(ERRORS)) {
      assert.ok(row.exit > 0 && row.exit < 256, reason);
      assert.ok(row.http >= 400 || reason === 'approval.pending', reason);
      assert.ok(row.native >= 1 && row.native <= 6, reason);
      assert.match(row.meaning, /^[A-Z].*\.$/, reason);
    }
  });
  for (const [reason, pinned] of Object.entries(PINNED)) {
    it(`keeps ${reason}`, () => {
      const { code, http, exit } = ERRORS[reason as keyof typeof ERRORS];
      assert.deepEqual([code, http, exit], pinned);
    });
  }
});
