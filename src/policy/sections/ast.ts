// Owns: `ast`: how code is parsed and edited.
// Not here: parsing.
import type { Section } from '../section.ts';
import { flag, map, text } from '../shapes.ts';
import { nothing, switches, value } from '../values.ts';

const NO_AST = 'this version does not parse code';

export const ast = {
  key: 'ast',
  written: () => ({
    shape: map('How code is parsed and edited.', {
      language: text('name', 'The language of files whose name does not tell.'),
      format_on_save: flag('Whether edited code is formatted.'),
      validate_on_edit: flag('Whether edited code must still parse.'),
    }),
    widening: (host, session) =>
      session.validate_on_edit === false && host?.validate_on_edit ? ['.validate_on_edit'] : [],
    changes: (old = {}, now = {}) => [
      ...value('ast.language', old.language, now.language, () => true),
      ...switches('ast', old, now, { format_on_save: true, validate_on_edit: false }),
    ],
    reach: 4,
    grants: ({ format_on_save: formats }) => (formats ? ['formatting of what is saved'] : []),
    below: (own) => (own?.validate_on_edit ? { validate_on_edit: true } : undefined),
  }),
  unused: { 'ast.language': NO_AST, 'ast.format_on_save': NO_AST, 'ast.validate_on_edit': NO_AST },
  meaning: (own) => ({ format_on_save: false, validate_on_edit: false, ...own }),
  project: nothing,
  narrow: (host, session) => ({ ...host, ...session }),
} satisfies Section<'ast'>;
