// Owns: `audit`: how much of the audit stays in the database.
// Not here: moving older rows into segments (stores/sqlite).
import { POLICY_DEFAULTS } from '../../contract/policy.ts';
import type { Section } from '../section.ts';
import { LARGEST, MOST_DAYS, map, number } from '../shapes.ts';
import { absent, kept, nothing, shortened } from '../values.ts';

export const audit = {
  key: 'audit',
  written: () => ({
    shape: map(
      'How the audit is kept. No row is ever removed: older ones go into compressed segments in `.haft/audit/`, where they are still listed, verified and exported.',
      {
        keep: map('What stays in the database.', {
          days: number('Rows of the last so many days.', 0, MOST_DAYS, '30'),
          rows: number('The newest so many rows.', 0, LARGEST, '20,000'),
        }),
      },
    ),
    changes: (old = {}, now = {}) => kept('audit.keep', old.keep, now.keep, POLICY_DEFAULTS.auditKeep),
    reach: 1,
    grants: ({ keep }) => shortened('the audit in the database', keep, POLICY_DEFAULTS.auditKeep),
    below: absent,
  }),
  meaning: (own = {}) => (Object.keys(own).length > 0 ? own : undefined),
  project: nothing,
} satisfies Section<'audit'>;
