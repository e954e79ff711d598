// Owns: `fs_delete`: taking a file, a link or a folder away.
// Refuses: the workspace root, and a folder that is not empty unless told to.
import type { Edit } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import {
  flag,
  MUTATION_PROPERTIES,
  type MutationArgs,
  PREVIEW_PROPERTIES,
  type Preview,
  path,
  reads,
  record,
  writes,
  writesTree,
} from './arguments.ts';

export interface FsDeleteArgs extends MutationArgs {
  readonly path: string;
  readonly recursive: boolean;
  readonly force: boolean;
}

export interface FsDeleteData extends Partial<Preview> {
  readonly deleted: boolean;
}

export const fsDelete = defineBuiltin<FsDeleteArgs, FsDeleteData>({
  id: 'fs_delete',
  title: 'Delete',
  description:
    'Delete a file, a link (not its target) or a folder. Prefer it to rm: undo brings back what it deleted.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        path: path('File, link or folder to delete.'),
        recursive: flag(false, 'Also a folder that is not empty.'),
        force: flag(false, 'Succeed if nothing is there.'),
        ...MUTATION_PROPERTIES,
      },
      ['path'],
    ),
  output: () =>
    record(
      {
        deleted: {
          type: 'boolean',
          description: 'False in a dry run, and with force where nothing was there.',
        },
        ...PREVIEW_PROPERTIES,
      },
      ['deleted'],
    ),
  examples: [{ title: 'Delete a folder', args: { path: 'build', recursive: true } }],
  effects(args, site) {
    const place = site.place(args.path);
    if (place === '.') throw fail('path.protected', 'Cannot delete ".": it is the workspace root');
    return [
      ...(args.dry_run ? [reads(site, args.path)] : []),
      args.recursive ? writesTree(site, args.path) : writes(site, args.path),
    ];
  },
  async run(args, ctx) {
    const edit: Extract<Edit, { op: 'delete' }> = {
      op: 'delete',
      path: args.path,
      recursive: args.recursive,
      force: args.force,
      ...(args.expected_sha256 === undefined ? {} : { expectedSha256: args.expected_sha256 }),
    };
    if (args.dry_run) {
      const { previewEdit } = await import('./preview.ts');
      return { deleted: false, ...(await previewEdit(ctx, edit)) };
    }
    const changes = await ctx.fs.mutate([edit]);
    return { deleted: changes.length > 0 };
  },
});
