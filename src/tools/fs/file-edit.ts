// Owns: the contract of `file_edit`: exact text of one file replaced, as often as the caller says that it is there.
// Refuses: fuzz, and to be the way to create a file.
import { once } from '../../base/once.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import {
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

const OLD = { type: 'string', minLength: 1 };
const NEW = { type: 'string' };
const COUNT = { type: 'integer', minimum: 1, maximum: 100_000, default: 1 };

export const fileEdit = defineBuiltin<FileEditArgs, FileEditData>({
  id: 'file_edit',
  title: 'Edit a file',
  description:
    'Replace exact text in one file: the usual way to change code. old must match the file exactly, indentation included, and occur expected_count times: read the file first and give enough lines to be unique. ' +
    'A refusal shows the real lines. To create a file use file_write. Can be undone.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        path: path('File to edit.'),
        old: { ...OLD, description: 'Exact text to replace.' },
        new: { ...NEW, description: 'Replacement.' },
        expected_count: { ...COUNT, description: 'Times old occurs; all are replaced.' },
        edits: {
          type: 'array',
          minItems: 1,
          maxItems: 100,
          description: 'Several replacements at once, instead of old and new.',
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
