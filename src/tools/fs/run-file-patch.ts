// Owns: what `file_patch` does: which files a diff touches, and changing all of them or none.
// Refuses: to be loaded before the first patch.
import type { Loss, ToolContext } from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import { fail } from '../../contract/errors.ts';
import type { EffectSite } from '../../contract/tool.ts';
import type { MutationArgs, Preview } from './arguments.ts';
import { reads, writes } from './file-effects.ts';
import { lossesOf } from './losses-of.ts';
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
  readonly not_kept?: readonly Loss[];
}

export function patchEffects(args: FilePatchArgs, site: EffectSite): readonly Effect[] {
  return patchTargets(args.path, args.unified_diff).flatMap((target) => effectsOf(site, target));
}

export async function runFilePatch(args: FilePatchArgs, ctx: ToolContext): Promise<FilePatchData> {
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
  const lost = lossesOf(ctx, await ctx.fs.mutate(edits), 'kept');
  return { patched: true, ...answer, ...(lost.length > 0 ? { not_kept: lost } : {}) };
}

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
