// Owns: `fs_move`: another name for a file, a link or a whole folder.
// Refuses: to replace what is at the new name unless told to.
import type { Edit, Loss } from '../../contract/capability.ts';
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
  readsTree,
  record,
  writesTree,
} from './arguments.ts';

export interface FsMoveArgs extends MutationArgs {
  readonly src: string;
  readonly dst: string;
  readonly overwrite: boolean;
  readonly create_dirs: boolean;
}

export interface FsMoveData extends Partial<Preview> {
  readonly moved: boolean;
  readonly not_kept?: readonly Loss[];
}

export const fsMove = defineBuiltin<FsMoveArgs, FsMoveData>({
  id: 'fs_move',
  title: 'Move or rename',
  description:
    'Move or rename a file or folder. dst is the new path, not a folder to move into; refused if it exists, unless overwrite. Can be undone.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        src: path('File or folder to move.'),
        dst: path('New path.'),
        overwrite: flag(false, 'Replace a file or empty folder.'),
        create_dirs: flag(true, 'Create parent folders.'),
        ...MUTATION_PROPERTIES,
      },
      ['src', 'dst'],
    ),
  output: () =>
    record(
      {
        moved: { type: 'boolean', description: 'False only in a dry run.' },
        not_kept: losses(
          'What the original has and its new place could not be given; absent when there is none.',
        ),
        ...PREVIEW_PROPERTIES,
      },
      ['moved'],
    ),
  examples: [{ title: 'Rename a file', args: { src: 'src/old.rs', dst: 'src/new.rs' } }],
  // Where something is moved to, it may be readable: policy is asked as for reading it here.
  effects: (args, site) => [
    readsTree(site, args.src),
    writesTree(site, args.src),
    writesTree(site, args.dst),
  ],
  async run(args, ctx) {
    const edit: Extract<Edit, { op: 'move' | 'copy' }> = {
      op: 'move',
      from: args.src,
      to: args.dst,
      overwrite: args.overwrite,
      createDirs: args.create_dirs,
      ...(args.expected_sha256 === undefined ? {} : { expectedSha256: args.expected_sha256 }),
    };
    if (args.dry_run) {
      const { previewEdit } = await import('./preview.ts');
      return { moved: false, ...(await previewEdit(ctx, edit)) };
    }
    const lost = lossesOf(ctx, await ctx.fs.mutate([edit]), 'kept');
    return { moved: true, ...(lost.length > 0 ? { not_kept: lost } : {}) };
  },
});
