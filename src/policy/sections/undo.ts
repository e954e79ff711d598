// Owns: `undo`: what is kept so that calls can be undone.
// Not here: undoing, and clearing away (capabilities/fs, preset/retention.ts).
import { POLICY_DEFAULTS } from '../../contract/policy.ts';
import type { Section } from '../section.ts';
import { LARGEST, MOST_DAYS, map, number } from '../shapes.ts';
import { kept, larger, nothing, shortened, smaller, value } from '../values.ts';

export const undo = {
  key: 'undo',
  written: () => ({
    shape: map('What is kept so that calls can be undone.', {
      max_bytes: number('Bytes that one call may keep.', 0, LARGEST, '64 MiB'),
      keep: map(
        'Which calls can be undone. What others need more is kept all the same, and so is what was stored within the last hour.',
        {
          days: number('Calls of the last so many days.', 0, MOST_DAYS, '30'),
          bytes: number(
            'The newest calls, as long as what they replaced is no larger together.',
            0,
            LARGEST,
            '512 MiB',
          ),
        },
      ),
    }),
    widening: (host = {}, { keep, ...session }) => [
      ...larger({ max_bytes: host.max_bytes ?? POLICY_DEFAULTS.undo.max_bytes }, session),
      ...(keep ? ['.keep'] : []),
    ],
    // Less of what undo keeps is less to go back to, and more is more of the disk.
    changes: (old = {}, now = {}) => [
      ...value('undo.max_bytes', old.max_bytes, now.max_bytes, () => true),
      ...kept('undo.keep', old.keep, now.keep, POLICY_DEFAULTS.undoKeep),
    ],
    reach: 2,
    grants: ({ keep }) => shortened('undo', keep, POLICY_DEFAULTS.undoKeep),
    // What is kept of another workspace's calls is that one's.
    below: ({ max_bytes: most } = {}) => (most === undefined ? undefined : { max_bytes: most }),
  }),
  meaning: (own = {}) => own,
  project: nothing,
  /** For how long it is kept is the workspace's to say. */
  narrow: ({ keep, ...host } = {}, { keep: _keep, ...session }) => ({
    ...smaller(host, session),
    ...(keep ? { keep } : {}),
  }),
} satisfies Section<'undo'>;
