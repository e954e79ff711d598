// Owns: `shell_signal`: a signal for a background shell.
// Refuses: processes that are no background shell of the session.

import { SHELL_SIGNALS, type ShellSignal } from '../../contract/shells.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { object, SHELL_ID, SHELL_LIMITS, TEXT } from './shell-fields.ts';

export interface ShellSignalArgs {
  readonly shell_id: string;
  readonly signal: ShellSignal;
}

export const shellSignal = defineBuiltin<ShellSignalArgs, { readonly signal: string }>({
  id: 'shell_signal',
  title: 'Signal a background shell',
  description:
    'Send a signal to a background shell and all that runs in it: INT interrupts, TERM asks it to end, KILL ends it.',
  tags: ['process', 'shell', 'write'],
  idempotent: false,
  mutates: true,
  limits: SHELL_LIMITS,
  input: () =>
    object(
      {
        shell_id: SHELL_ID,
        signal: { enum: [...SHELL_SIGNALS], default: 'TERM', description: 'Signal.' },
      },
      ['shell_id'],
    ),
  output: () => object({ signal: TEXT }),
  examples: [{ title: 'End everything', args: { shell_id: 'shell_1', signal: 'KILL' } }],
  effects: () => [],
  async run({ shell_id, signal }, ctx) {
    await ctx.shells.signal(shell_id, signal);
    ctx.testify({ shell: shell_id, signal });
    return { signal };
  },
});
