// Owns: `file_write`: a file's whole content, put there at once or not at all.
// Refuses: to write over a version that the caller did not expect, and to follow a link out of the workspace.
import { sha256Hex } from '../../base/digest.ts';
import type { Edit, Loss } from '../../contract/capability.ts';
import type { JsonObject } from '../../contract/json.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import {
  flag,
  losses,
  lossesOf,
  MUTATION_PROPERTIES,
  type MutationArgs,
  PREVIEW_PROPERTIES,
  type Preview,
  path,
  reads,
  record,
  sha256,
  writes,
} from './arguments.ts';
import { fromContent } from './text-content.ts';

export interface FileWriteArgs extends MutationArgs {
  readonly path: string;
  readonly content: string;
  readonly encoding: 'utf8' | 'base64';
  readonly create_dirs: boolean;
  readonly must_create: boolean;
  readonly mode_octal?: string;
  readonly attribution?: JsonObject;
}

export interface FileWriteData extends Partial<Preview> {
  readonly written: boolean;
  readonly bytes: number;
  readonly sha256: string;
  readonly created: boolean;
  readonly not_kept?: readonly Loss[];
}

export const fileWrite = defineBuiltin<FileWriteArgs, FileWriteData>({
  id: 'file_write',
  title: 'Write a file',
  description:
    'Create a file or replace all of its content. To change part of a file use file_edit or file_patch. ' +
    'must_create never overwrites; expected_sha256 (from an earlier answer) overwrites only that version. Can be undone.',
  tags: ['filesystem', 'write'],
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        path: path('File to write.'),
        content: { type: 'string', description: 'The whole new content.' },
        encoding: { enum: ['utf8', 'base64'], default: 'utf8', description: 'Of content.' },
        create_dirs: flag(true, 'Create parent folders.'),
        must_create: flag(false, 'Refuse if the file exists.'),
        mode_octal: {
          type: 'string',
          pattern: '^0?[0-7]{3}$',
          description: 'Permissions, such as 0755.',
        },
        attribution: { type: 'object', description: 'For the audit.' },
        ...MUTATION_PROPERTIES,
      },
      ['path', 'content'],
    ),
  output: () =>
    record(
      {
        written: { type: 'boolean', description: 'False only in a dry run.' },
        bytes: { type: 'integer' },
        sha256: sha256('Of the content; what expected_sha256 takes next time.'),
        created: { type: 'boolean', description: 'Nothing was there before.' },
        not_kept: losses(
          'What the replaced file had and the new one was not given; absent when there is none.',
        ),
        ...PREVIEW_PROPERTIES,
      },
      ['written', 'bytes', 'sha256', 'created'],
    ),
  examples: [
    { title: 'A new file', args: { path: 'src/auth.rs', content: 'pub fn login() {}\n', must_create: true } },
    { title: 'An executable', args: { path: 'bin/run.sh', content: '#!/bin/sh\n', mode_octal: '0755' } },
  ],
  effects: (args, site) =>
    args.dry_run ? [reads(site, args.path), writes(site, args.path)] : [writes(site, args.path)],
  async run(args, ctx) {
    const bytes = fromContent(args.content, args.encoding, args.path);
    const edit: Extract<Edit, { op: 'write' }> = {
      op: 'write',
      path: args.path,
      bytes,
      createDirs: args.create_dirs,
      mustCreate: args.must_create,
      ...(args.mode_octal === undefined ? {} : { mode: Number.parseInt(args.mode_octal, 8) }),
      ...(args.expected_sha256 === undefined ? {} : { expectedSha256: args.expected_sha256 }),
    };
    const answer = { bytes: bytes.length, sha256: sha256Hex(bytes) };
    if (args.dry_run) {
      const { previewEdit } = await import('./preview.ts');
      const preview = await previewEdit(ctx, edit);
      return { written: false, ...answer, created: preview.changes.at(-1)?.change === 'create', ...preview };
    }
    const changes = await ctx.fs.mutate([edit]);
    const created = changes.some((change) => change.after?.type === 'file' && change.before === null);
    const lost = lossesOf(ctx, changes, 'kept');
    return { written: true, ...answer, created, ...(lost.length > 0 ? { not_kept: lost } : {}) };
  },
});
