// Owns: `fs_copy`: a second file or folder like the first.
// Refuses: to replace what is at the new path unless told to.
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
  reads,
  readsTree,
  record,
  writesTree,
} from './arguments.ts';

export interface FsCopyArgs extends MutationArgs {
  readonly src: string;
  readonly dst: string;
  readonly overwrite: boolean;
  readonly preserve_mode: boolean;
  readonly create_dirs: boolean;
}

export interface FsCopyData extends Partial<Preview> {
  readonly copied: boolean;
  readonly not_kept?: readonly Loss[];
}

export const fsCopy = defineBuiltin<FsCopyArgs, FsCopyData>({
  id: 'fs_copy',
  title: 'Copy',
  description:
    'Copy a file or folder. dst is the new path, not a folder to copy into; refused if it exists, unless overwrite. Can be undone.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  previews: true,
  input: () =>
    record(
      {
        src: path('File or folder to copy.'),
        dst: path('New path.'),
        overwrite: flag(false, 'Replace the file, or merge the folder.'),
        preserve_mode: flag(true, 'Keep permissions.'),
        create_dirs: flag(true, 'Create parent folders.'),
        ...MUTATION_PROPERTIES,
      },
      ['src', 'dst'],
    ),
  output: () =>
    record(
      {
        copied: { type: 'boolean', description: 'False only in a dry run.' },
        not_kept: losses(
          'What the original has and its new place could not be given; absent when there is none.',
        ),
        ...PREVIEW_PROPERTIES,
      },
      ['copied'],
    ),
  examples: [{ title: 'Copy a file', args: { src: 'config.example.json', dst: 'config.json' } }],
  effects: (args, site) => [
    readsTree(site, args.src),
    ...(args.dry_run ? [reads(site, args.dst)] : []),
    writesTree(site, args.dst),
  ],
  async run(args, ctx) {
    const edit: Extract<Edit, { op: 'move' | 'copy' }> = {
      op: 'copy',
      from: args.src,
      to: args.dst,
      overwrite: args.overwrite,
      preserveMode: args.preserve_mode,
      createDirs: args.create_dirs,
      ...(args.expected_sha256 === undefined ? {} : { expectedSha256: args.expected_sha256 }),
    };
    if (args.dry_run) {
      const { previewEdit } = await import('./preview.ts');
      return { copied: false, ...(await previewEdit(ctx, edit)) };
    }
    const lost = lossesOf(ctx, await ctx.fs.mutate([edit]), 'kept');
    return { copied: true, ...(lost.length > 0 ? { not_kept: lost } : {}) };
  },
});
