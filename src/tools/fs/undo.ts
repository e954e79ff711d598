// Owns: the contract of `undo`: taking back what one earlier call changed.
// Refuses: to destroy work that came after it, and calls whose replaced content was not kept.
import { once } from '../../base/once.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { flag, losses, PREVIEW_PROPERTIES, record } from './arguments.ts';
import type { UndoArgs, UndoData } from './run-undo.ts';

/** Not at the top: no other tool should wait for it. */
const load = once(() => import('./run-undo.ts'));

export const undo = defineBuiltin<UndoArgs, UndoData>({
  id: 'undo',
  title: 'Undo a call',
  description:
    'Take back everything that one earlier call changed. Refused if a file was changed since: undo the later calls first. Changes by programs (shell_exec) and packs cannot be undone.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        call_id: {
          type: 'string',
          minLength: 1,
          maxLength: 128,
          description: 'Of the change to undo.',
        },
        dry_run: flag(false, 'Only show the changes.'),
        no_undo: flag(false, 'The undo cannot be undone.'),
      },
      ['call_id'],
    ),
  output: () =>
    record(
      {
        undone: { type: 'boolean', description: 'False only in a dry run.' },
        restored: { type: 'array', items: { type: 'string' }, description: 'Every path that was put back.' },
        removed: {
          type: 'array',
          items: { type: 'string' },
          description: 'Every path that is gone, since the call had made it; absent when there is none.',
        },
        not_restored: losses('What an entry had and could not be given; absent when there is none.'),
        ...PREVIEW_PROPERTIES,
      },
      ['undone', 'restored'],
    ),
  examples: [{ title: 'Take a call back', args: { call_id: 'call_4x7q0n5h2k9d3m8c1v6b' } }],
  effects: async (args, site) => (await load()).undoEffects(args, site),
  run: async (args, ctx) => (await load()).runUndo(args, ctx),
});
