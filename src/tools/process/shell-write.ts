// Owns: `shell_write`: text for the standard input of a background shell.
// Refuses: text that would be run there and that shell_exec would refuse.
import { defineBuiltin } from '../../contract/tool.ts';
import { object, SHELL_ID, SHELL_LIMITS } from './shell-fields.ts';

export interface ShellWriteArgs {
  readonly shell_id: string;
  readonly input: string;
  readonly end: boolean;
}

export const shellWrite = defineBuiltin<ShellWriteArgs, { readonly written: number }>({
  id: 'shell_write',
  title: 'Write to a background shell',
  description:
    'Writes to the standard input of a background shell. For a shell started as "bash" the input is one or more whole commands, ' +
    'decided by shell_allow like a line of shell_exec. For an interpreter (python, node, psql, …) it is whole lines, ' +
    "decided as python -c 'INPUT' would be. For other programs it is data.",
  tags: ['process', 'shell', 'write'],
  idempotent: false,
  mutates: true,
  limits: SHELL_LIMITS,
  input: () =>
    object(
      {
        shell_id: SHELL_ID,
        input: {
          type: 'string',
          maxLength: 1024 * 1024,
          description: 'The text. A line is read once its line feed is there.',
        },
        end: { type: 'boolean', default: false, description: 'Close the standard input afterwards.' },
      },
      ['shell_id', 'input'],
    ),
  output: () => object({ written: { type: 'integer', description: 'Bytes.' } }),
  examples: [{ title: 'Run a command in a shell', args: { shell_id: 'shell_1', input: 'cd src && ls\n' } }],
  effects: ({ shell_id, input, end }, { shells, place }) =>
    shells?.inputEffects(shell_id, input, end, place) ?? [],
  async run({ shell_id, input, end }, ctx) {
    await ctx.shells.write(shell_id, input, end);
    const written = Buffer.byteLength(input);
    ctx.testify({ shell: shell_id, written });
    return { written };
  },
});
