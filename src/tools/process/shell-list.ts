// Owns: `shell_list`: the background shells of the session.
// Refuses: those of others, and processes that nobody started here (proc_list).
import type { JsonObject } from '../../contract/json.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { object, SHELL_LIMITS, stateData, stateProperties, TEXT } from './shell-fields.ts';

export const shellList = defineBuiltin<object, { readonly shells: readonly JsonObject[] }>({
  id: 'shell_list',
  title: 'Show background shells',
  description: 'List the background shells of this session, oldest first.',
  tags: ['background', 'read'],
  limits: { ...SHELL_LIMITS, timeoutMs: 10_000 },
  input: () => object({}),
  output: () =>
    object(
      {
        shells: {
          type: 'array',
          items: object(
            {
              shell_id: TEXT,
              name: TEXT,
              cmd: TEXT,
              started: { type: 'string', description: 'In UTC: 2026-01-31T12:00:00.000Z.' },
              next: { type: 'integer', description: 'Where its output ends: since, to see only what comes.' },
              ...stateProperties(),
            },
            ['shell_id', 'cmd', 'started', 'next', 'running'],
          ),
        },
      },
      ['shells'],
    ),
  examples: [{ title: 'All of them', args: {} }],
  effects: () => [],
  async run(_args, ctx) {
    const shells = (await ctx.shells.list()).map((shell) => ({
      shell_id: shell.id,
      ...(shell.name === undefined ? {} : { name: shell.name }),
      cmd: shell.cmd,
      started: new Date(shell.startedMs).toISOString(),
      next: shell.next,
      ...stateData(shell),
    }));
    return { shells };
  },
});
