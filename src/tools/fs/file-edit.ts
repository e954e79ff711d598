// Owns: the contract of `file_edit`: exact text of one file replaced, as often as the caller says that it is there.
// Refuses: fuzz, and to be the way to create a file.
import { once } from '../../base/once.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import {
  count,
  losses,
  MUTATION_PROPERTIES,
  PREVIEW_PROPERTIES,
  path,
  reads,
  record,
  sha256,
  writes,
} from './arguments.ts';
import type { FileEditArgs, FileEditData } from './run-file-edit.ts';

/** Not at the top: no other tool should wait for it. */
const load = once(() => import('./run-file-edit.ts'));

const OLD = { type: 'string', minLength: 1, description: 'The text to replace, exactly as the file has it.' };
const NEW = { type: 'string', description: 'What takes its place; empty to remove it.' };
const COUNT = {
  ...(count(1, 100_000, 'How many times old is in the file; all of them are replaced.') as object),
  default: 1,
};

export const fileEdit = defineBuiltin<FileEditArgs, FileEditData>({
  id: 'file_edit',
  title: 'Edit a file',
  description:
    'Replaces exact text in a UTF-8 file. old must be in the file exactly expected_count times, indentation included: ' +
    'copy it from file_read, with enough lines around it to be there once. ' +
    'edits makes several replacements, all or none, each looked for in the file as it is now. ' +
    'A refusal names the lines where old stands, or shows what the file has where only white space differs. ' +
    'Line ends are those of the file, whatever yours are; one that mixes LF and CRLF is matched exactly. ' +
    'Create files with file_write. Can be taken back with undo.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        path: path('The file.'),
        old: OLD,
        new: NEW,
        expected_count: COUNT,
        edits: {
          type: 'array',
          minItems: 1,
          maxItems: 100,
          description: 'Several replacements, instead of old, new and expected_count.',
          items: record({ old: OLD, new: NEW, expected_count: COUNT }, ['old', 'new']),
        },
        ...MUTATION_PROPERTIES,
      },
      ['path'],
    ),
  output: () =>
    record(
      {
        edited: { type: 'boolean', description: 'False only in a dry run.' },
        replacements: { type: 'integer', description: 'Places that were replaced.' },
        lines: {
          type: 'array',
          items: { type: 'integer' },
          description: 'Where each begins, as lines of the file before, from 1; the first 1000.',
        },
        line_ends_adapted: {
          enum: ['lf', 'crlf'],
          description: 'Line ends in old or new were taken as these, which are those of the file.',
        },
        sha256_before: sha256('Of the content before.'),
        sha256: sha256('Of the new content; what expected_sha256 takes next time.'),
        not_kept: losses(
          'What the replaced file had and the new one was not given; absent when there is none.',
        ),
        ...PREVIEW_PROPERTIES,
      },
      ['edited', 'replacements', 'lines', 'sha256_before', 'sha256'],
    ),
  examples: [
    { title: 'Change one place', args: { path: 'src/lib.rs', old: '    old();\n', new: '    new();\n' } },
    { title: 'Rename everywhere', args: { path: 'a.py', old: 'count', new: 'total', expected_count: 3 } },
  ],
  // A refusal shows what the file has, so that it is read in every case.
  effects: (args, site) => [reads(site, args.path), writes(site, args.path)],
  run: async (args, ctx) => (await load()).runFileEdit(args, ctx),
});
