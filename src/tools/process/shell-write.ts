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
    'Write to the standard input of a background shell. For bash and interpreters it is whole commands or lines, which haft.yaml decides as it does for shell_exec; for other programs it is data.',
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
          description: 'Text; end lines with a line feed.',
        },
        end: { type: 'boolean', default: false, description: 'Close standard input afterwards.' },
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
