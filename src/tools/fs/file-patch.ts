// Owns: `file_patch`: a unified diff over one or several files, applied whole or not at all.
// Refuses: fuzz. Every line that a hunk keeps or removes must be there, and in one place only.
import type { Effect } from '../../contract/effect.ts';
import { fail } from '../../contract/errors.ts';
import { defineBuiltin, type EffectSite } from '../../contract/tool.ts';
import {
  MUTATION_PROPERTIES,
  type MutationArgs,
  PREVIEW_PROPERTIES,
  type Preview,
  path,
  record,
  sha256,
} from './arguments.ts';
import { reads, writes } from './file-effects.ts';
import { applyTo, editsOf, type Patched, type PatchedFile } from './patch-edits.ts';
import { type PatchTarget, patchTargets } from './patch-targets.ts';
import { diffOf, previewOf } from './preview.ts';

export interface FilePatchArgs extends MutationArgs {
  readonly path: string;
  readonly unified_diff: string;
}

export interface FilePatchData extends Partial<Preview> {
  readonly patched: boolean;
  readonly hunks_applied: number;
  readonly files: readonly PatchedFile[];
  readonly sha256?: string;
}

export const filePatch = defineBuiltin<FilePatchArgs, FilePatchData>({
  id: 'file_patch',
  title: 'Patch files',
  description:
    'Applies a unified diff: the way to change a part of a file. Line numbers in "@@" headers are only hints (a bare "@@" will do), ' +
    'but every context and removed line must be in the file exactly, in one place; give three lines of context. ' +
    'A hunk that does not fit is refused with what stands there instead, and nothing is changed. ' +
    'Give path as the one file; the names in the headers then need only end like it, or can be left out. ' +
    'For several files give path as "." or a folder: the headers are relative to it, and all files are changed or none. ' +
    'Files can be created (--- /dev/null), deleted (+++ /dev/null), renamed and copied as git writes it. ' +
    'Line endings, byte order mark and permission bits stay as they are. Can be taken back with undo.',
  tags: ['filesystem', 'write'],
  idempotent: false,
  mutates: true,
  input: record(
    {
      path: path(
        'The one file, or the folder (".", or ending in "/") that the diff headers are relative to.',
      ),
      unified_diff: {
        type: 'string',
        minLength: 1,
        description: 'The diff, as git diff or diff -u print it.',
      },
      ...MUTATION_PROPERTIES,
    },
    ['path', 'unified_diff'],
  ),
  output: record(
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
            sha256: sha256('Of the new content; absent for a deleted file.'),
          },
          ['path', 'change', 'hunks_applied'],
        ),
      },
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
  ],
  effects: (args, site) =>
    patchTargets(args.path, args.unified_diff).flatMap((target) => effectsOf(site, target)),
  async run(args, ctx) {
    const targets = patchTargets(args.path, args.unified_diff);
    if (args.expected_sha256 !== undefined && (targets.length > 1 || targets[0]!.from === null)) {
      const message = `Cannot patch "${args.path}": expected_sha256 is for a diff that changes one existing file`;
      throw fail('input.schema', message);
    }
    const patched: Patched[] = [];
    for (const target of targets) patched.push(await applyTo(ctx, target, args.expected_sha256));
    const files = patched.map((one) => one.file);
    const answer = {
      hunks_applied: files.reduce((sum, file) => sum + file.hunks_applied, 0),
      files,
      ...(files.length === 1 && files[0]!.sha256 ? { sha256: files[0]!.sha256 } : {}),
    };
    const edits = editsOf(patched);
    if (args.dry_run) {
      const changes = await ctx.fs.preview(edits);
      return { patched: false, ...answer, ...previewOf(ctx, changes, await diffOfAll(patched)) };
    }
    await ctx.fs.mutate(edits);
    return { patched: true, ...answer };
  },
});

function effectsOf(site: EffectSite, { from, to, patch }: PatchTarget): Effect[] {
  const touched: Effect[] = [];
  if (from !== null) touched.push(reads(site, from));
  if (to !== null) touched.push(writes(site, to));
  if (from !== null && from !== to && patch.change !== 'copy') touched.push(writes(site, from));
  return touched;
}

async function diffOfAll(patched: readonly Patched[]): Promise<string | undefined> {
  const diffs: string[] = [];
  for (const { target, before, after } of patched) {
    const source = target.patch.change === 'copy' ? undefined : before;
    const diff = await diffOf(
      source && { path: target.from!, bytes: source.bytes },
      after && { path: target.to!, bytes: after },
    );
    if (diff === undefined) return undefined;
    diffs.push(diff);
  }
  return diffs.join('');
}
