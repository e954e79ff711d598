// Owns: `shell_read`: what a background shell printed since, and whether it runs.
// Refuses: to forget: reading the same place again answers the same, while it is kept.
import type { JsonObject } from '../../contract/json.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { object, SHELL_ID, SHELL_LIMITS, stateData, stateProperties, TEXT } from './shell-fields.ts';

export interface ShellReadArgs {
  readonly shell_id: string;
  readonly since: number;
  readonly max_bytes: number;
  readonly wait_ms: number;
  readonly until: 'output' | 'exit';
}

export const shellRead = defineBuiltin<ShellReadArgs, JsonObject>({
  id: 'shell_read',
  title: 'Read a background shell',
  description:
    'Return what a background shell printed since a position, and whether it still runs. Waits up to wait_ms for output, or with until "exit" for the end. Only the last MiB is kept.',
  tags: ['process', 'shell', 'read'],
  limits: SHELL_LIMITS,
  input: () =>
    object(
      {
        shell_id: SHELL_ID,
        since: {
          type: 'integer',
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          default: 0,
          description: 'next of the last answer.',
        },
        max_bytes: {
          type: 'integer',
          minimum: 4,
          maximum: 1024 * 1024,
          default: 65_536,
          description: 'Most bytes to return.',
        },
        wait_ms: {
          type: 'integer',
          minimum: 0,
          maximum: 600_000,
          default: 1000,
          description: 'How long to wait.',
        },
        until: {
          enum: ['output', 'exit'],
          default: 'output',
          description: 'What to wait for.',
        },
      },
      ['shell_id'],
    ),
  output: () =>
    object(
      {
        output: {
          type: 'array',
          items: object({ stream: { enum: ['stdout', 'stderr'] }, text: TEXT }),
        },
        next: { type: 'integer' },
        lost: { type: 'integer', description: 'Bytes after since that are no longer kept.' },
        more: { type: 'boolean', description: 'More is there: read on from next.' },
        ...stateProperties(),
      },
      ['output', 'next', 'lost', 'more', 'running'],
    ),
  examples: [
    { title: 'Wait for the next output', args: { shell_id: 'shell_1', since: 812, wait_ms: 10_000 } },
  ],
  effects: () => [],
  async run({ shell_id, since, max_bytes, wait_ms, until }, ctx) {
    const read = await ctx.shells.read(shell_id, {
      since,
      maxBytes: max_bytes,
      waitMs: wait_ms,
      until,
      onOutput: (stream, text) => ctx.output(stream, text),
    });
    const output = read.output.map((piece) => ({ ...piece }));
    return { output, next: read.next, lost: read.lost, more: read.more, ...stateData(read) };
  },
});
