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
    'Apply a unified diff, or a "*** Begin Patch" text, to one file or to several (all or none). Context and removed lines must match the file exactly: read it first, give three lines of context. ' +
    '"@@" without numbers works if the lines occur once. Can create, delete (/dev/null) and rename. Can be undone.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        path: path('The file; or the folder (".") that the diff headers are relative to.'),
        unified_diff: {
          type: 'string',
          minLength: 1,
          description: 'As git diff or diff -u print it, or from "*** Begin Patch" to "*** End Patch".',
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
