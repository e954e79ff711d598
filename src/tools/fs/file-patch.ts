// Owns: the contract of `file_patch`: a unified diff or a "*** Begin Patch" over one or several files, applied whole or not at all.
// Refuses: fuzz. Every line that a hunk keeps or removes must be there, at a place that is certain.
import { once } from '../../base/once.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { losses, MUTATION_PROPERTIES, PREVIEW_PROPERTIES, path, record, sha256 } from './arguments.ts';
import type { FilePatchArgs, FilePatchData } from './run-file-patch.ts';

/** Not at the top: no other tool should wait for it. */
const load = once(() => import('./run-file-patch.ts'));

export const filePatch = defineBuiltin<FilePatchArgs, FilePatchData>({
  id: 'file_patch',
  title: 'Patch files',
  description:
    'Applies a unified diff: the way to change a part of a file. Every context and removed line must be in the file exactly; give three lines of context. ' +
    'A hunk goes to the line its "@@" header states, else (or with a bare "@@") to the one place where its lines stand; the answer says by how many lines it moved. ' +
    'Counts in a header must be right, or left out with its numbers; a hunk without context applies only at its stated line. ' +
    'End the diff with a newline: one that ends in the middle of an added line is cut off. "\\ No newline at end of file" below a line says that the file has none there. ' +
    'A hunk whose place is not certain, that is cut off or applied already is refused with place and reason, and nothing is changed. ' +
    'Give path as the one file; the names in the headers then need only end like it, or can be left out. ' +
    'For several files give path as "." or a folder: the headers are relative to it, and all files are changed or none. ' +
    'Files can be created (--- /dev/null), deleted (+++ /dev/null), renamed and copied as git writes it. ' +
    'A text that begins with "*** Begin Patch" is taken as well (*** Add File, Update File, Move to, Delete File; "@@ LINE" names a line above the change; *** End of File; *** End Patch): ' +
    'the same rules, and its lines must stand at one place at or below the "@@" line. ' +
    'Line endings, byte order mark and permission bits stay as they are, but for set-user-id and set-group-id (not_kept says so). Can be taken back with undo.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        path: path(
          'The one file, or the folder (".", or ending in "/") that the diff headers are relative to.',
        ),
        unified_diff: {
          type: 'string',
          minLength: 1,
          description:
            'The diff, as git diff or diff -u print it, or a text from "*** Begin Patch" to "*** End Patch".',
        },
        ...MUTATION_PROPERTIES,
      },
      ['path', 'unified_diff'],
    ),
  output: () =>
    record(
      {
        patched: { type: 'boolean', description: 'False only in a dry run.' },
        hunks_applied: { type: 'integer' },
        files: {
          type: 'array',
          items: record(
            {
              path: { type: 'string' },
              change: { enum: ['modify', 'create', 'delete', 'rename', 'copy'] },
              hunks_applied: { type: 'integer' },
              from: { type: 'string' },
              moved: {
                type: 'array',
                description: 'Hunks that are not at the lines that their headers state.',
                items: record(
                  {
                    hunk: { type: 'integer', description: 'Its number in this file of the diff, from 1.' },
                    line: { type: 'integer', description: 'Where it begins in the file as it was.' },
                    offset: {
                      type: 'integer',
                      description: 'How many lines below the stated one; negative above it.',
                    },
                  },
                  ['hunk', 'line', 'offset'],
                ),
              },
              sha256: sha256('Of the new content; absent for a deleted file.'),
            },
            ['path', 'change', 'hunks_applied'],
          ),
        },
        not_kept: losses(
          'What a replaced file had and the new one was not given; absent when there is none.',
        ),
        sha256: sha256('Of the new content, where the diff is about one file that remains.'),
        ...PREVIEW_PROPERTIES,
      },
      ['patched', 'hunks_applied', 'files'],
    ),
  examples: [
    {
      title: 'Change one line',
      args: { path: 'src/lib.rs', unified_diff: '@@\n fn main() {\n-    old();\n+    new();\n }\n' },
    },
    {
      title: 'Change one file and create another',
      args: {
        path: '.',
        unified_diff:
          '*** Begin Patch\n*** Update File: src/lib.rs\n@@ fn main() {\n-    old();\n+    new();\n*** Add File: NOTES.md\n+# Notes\n*** End Patch\n',
      },
    },
  ],
  // The engine is larger than everything that a read needs; it comes with the first patch.
  effects: async (args, site) => (await load()).patchEffects(args, site),
  run: async (args, ctx) => (await load()).runFilePatch(args, ctx),
});
