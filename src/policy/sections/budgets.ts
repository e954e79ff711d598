// Owns: `budgets`: what a session may use up.
// Not here: counting it (runtime/budget.ts).
import type { Section } from '../section.ts';
import { LARGEST, map, number } from '../shapes.ts';
import { limitsOnly } from '../values.ts';

export const budgets = limitsOnly('budgets', () => ({
  shape: map(
    'What a session may use up, unless it is opened with less. Over all processes: of calls no more are begun than this; time and bytes are added up when a call ends, so that calls under way at once may pass them together.',
    {
      calls: number('Calls.', 0, LARGEST, 'no limit'),
      wall_ms: number('Milliseconds that calls run, added up.', 0, LARGEST, 'no limit'),
      bytes: number('Bytes of arguments and answers, added up.', 0, LARGEST, 'no limit'),
    },
  ),
})) satisfies Section<'budgets'>;
