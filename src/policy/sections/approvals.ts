// Owns: `approvals`: how calls that must be asked about wait.
// Not here: asking (runtime/approval.ts).
import { POLICY_DEFAULTS } from '../../contract/policy.ts';
import type { Section } from '../section.ts';
import { LARGEST, map, number } from '../shapes.ts';
import { limitsOnly } from '../values.ts';

export const approvals = limitsOnly(
  'approvals',
  () => ({
    shape: map('How calls that must be asked about wait.', {
      expire_ms: number('Milliseconds until a question is no longer open.', 1, LARGEST, '15 minutes'),
    }),
    reach: 3,
    grants: ({ expire_ms: expires }) =>
      expires === undefined ? [] : [`approvals that hold for ${expires} ms`],
  }),
  POLICY_DEFAULTS.approvals,
) satisfies Section<'approvals'>;
