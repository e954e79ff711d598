// Owns: `sandbox`: what happens to programs where there is no sandbox.
// Not here: the sandbox (capabilities/exec).
import type { Section } from '../section.ts';
import { choice } from '../shapes.ts';
import { value } from '../values.ts';

export const sandbox = {
  key: 'sandbox',
  written: () => ({
    shape: choice(
      ['required', 'optional'],
      '`required` refuses what needs a sandbox where none can be had; `optional` runs it and says so.',
      'required',
    ),
    widening: (host, session) => (session === 'optional' && host !== 'optional' ? [''] : []),
    changes: (before = 'required', after = 'required') =>
      value('sandbox', before, after, (_, to) => to === 'optional'),
    reach: 10,
    grants: (own) => (own === 'optional' ? ['programs without a sandbox, where none is available'] : []),
    below: (own = 'required') => own,
  }),
  meaning: (own = 'required') => own,
  project: ({ sandbox: own }, _tool, complete) => ({ sandbox: own ?? (complete ? 'required' : null) }),
  narrow: (host, session) => (session === 'required' ? session : host),
} satisfies Section<'sandbox'>;
