// Owns: `limits`: what one call may use.
// Not here: holding a call to it (runtime/limits.ts).
import { MOST_SHELLS, POLICY_DEFAULTS } from '../../contract/policy.ts';
import type { Section } from '../section.ts';
import { LARGEST, LONGEST_MS, map, number } from '../shapes.ts';
import { limitsOnly } from '../values.ts';

export const limits = {
  ...limitsOnly(
    'limits',
    () => ({
      shape: map("What one call may use. The smaller of these and the tool's own limits holds.", {
        max_input_bytes: number('Bytes of the arguments.', 1, LARGEST, "the tool's"),
        max_output_bytes: number('Bytes of the answer.', 1, LARGEST, "the tool's"),
        timeout_ms: number('Milliseconds until the call is ended.', 1, LONGEST_MS, "the tool's"),
        max_shells: number('Background shells that a session has at a time.', 0, MOST_SHELLS, '8'),
      }),
    }),
    POLICY_DEFAULTS.limits,
  ),
  // How many shells there are changes no answer.
  project: ({ limits: { max_shells: _, ...own } = {} }) => ({ limits: own }),
} satisfies Section<'limits'>;
