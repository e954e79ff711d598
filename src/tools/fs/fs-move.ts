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
    'Moves a file or a folder with everything in it; this is also how to rename. dst is the new path itself, never a folder to move into. ' +
    'When something is at dst the call is refused with path.exists, unless overwrite is set; a folder that is not empty is never replaced. ' +
    'A link is moved as a link. Can be taken back with undo.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        src: path('What to move.'),
        dst: path('Its new path.'),
        overwrite: flag(false, 'Replace the file, link or empty folder at dst.'),
        create_dirs: flag(true, 'Create missing folders above dst.'),
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
