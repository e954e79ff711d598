// Owns: `git`: which operations of git need a grant of their own.
// Not here: clean trees and messages; those look at the repository, not at the policy.
import type { Finding, Section } from '../section.ts';
import { flag, map } from '../shapes.ts';
import { granted, switches } from '../values.ts';

const NO_GIT =
  'this version has no git tools; programs cannot change .git, and reach no host that network does not allow';

export const git = {
  key: 'git',
  written: () => ({
    shape: map('What git tools may do.', {
      allow_push: flag('Whether commits may be pushed.'),
      require_clean_tree_for_commit: flag('Whether a commit is refused while there are unstaged changes.'),
    }),
    widening: (host, session) => [
      ...(session.allow_push && !host?.allow_push ? ['.allow_push'] : []),
      ...(session.require_clean_tree_for_commit === false && host?.require_clean_tree_for_commit
        ? ['.require_clean_tree_for_commit']
        : []),
    ],
    changes: (old, now) =>
      switches('git', old, now, { allow_push: true, require_clean_tree_for_commit: false }),
    reach: 6,
    grants: ({ allow_push: push }) => (push ? ['git push'] : []),
    below: (own = {}) => ({
      allow_push: own.allow_push ?? false,
      ...(own.require_clean_tree_for_commit ? { require_clean_tree_for_commit: true } : {}),
    }),
  }),
  unused: { 'git.allow_push': NO_GIT, 'git.require_clean_tree_for_commit': NO_GIT },
  meaning: (own) => ({ allow_push: false, require_clean_tree_for_commit: false, ...own }),
  project: ({ git: own }, _tool, complete) => ({ allow_push: own?.allow_push ?? (complete ? false : null) }),
  narrow: (host, session) => ({
    ...host,
    ...(session.allow_push === false ? { allow_push: false } : {}),
    ...(session.require_clean_tree_for_commit ? { require_clean_tree_for_commit: true } : {}),
  }),
  effects: {
    git: {
      decide({ operation }, { layers }) {
        if (operation !== 'push') return GRANTED.decide();
        const findings: Finding[] = [];
        for (const layer of layers) {
          const allowed = layer.file.git?.allow_push ?? (layer.complete ? false : undefined);
          if (allowed === undefined) continue;
          const { where, ...cited } = layer.cite('git.allow_push');
          const grant = layer.grant({ git: { allow_push: true } });
          findings.push({
            verdict: allowed ? 'allow' : 'deny',
            ...cited,
            fact: `${where} is ${allowed}`,
            grant,
          });
        }
        return findings;
      },
    },
  },
} satisfies Section<'git'>;

const GRANTED = granted('git in the workspace is granted');
