// Owns: `version`: the version of haft.yaml's format.
// Not here: older formats; there are none.
import type { Section } from '../section.ts';
import { none, nothing, value } from '../values.ts';

export const version = {
  key: 'version',
  written: () => ({
    shape: { is: 'constant', value: 1, doc: 'The version of this format.' },
    widening: none,
    changes: (before, after) => value('version', before, after, () => true),
    grants: none,
    below: () => 1,
  }),
  project: nothing,
} satisfies Section<'version'>;
