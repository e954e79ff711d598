// Owns: what `file_edit` does: the new content worked out from what is there, and put there if the file is still that.
// Refuses: to be loaded before the first edit, and anything that is not UTF-8 text.
import { sha256Hex } from '../../base/digest.ts';
import { type ReplaceRefusal, replaceText, type TextEdit } from '../../base/replace-text/replace-text.ts';
import type { Edit, Loss, ToolContext } from '../../contract/capability.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { lossesOf, type MutationArgs, type Preview } from './arguments.ts';
import { diffOf, previewOf } from './preview.ts';
import { readBefore } from './read-before.ts';
import { asBuffer, isText } from './text-content.ts';

interface Replacement {
  readonly old: string;
  readonly new: string;
  readonly expected_count: number;
}

export interface FileEditArgs extends Partial<Replacement>, MutationArgs {
  readonly path: string;
  readonly edits?: readonly Replacement[];
}

export interface FileEditData extends Partial<Preview> {
  readonly edited: boolean;
  readonly replacements: number;
  readonly lines: readonly number[];
  readonly line_ends_adapted?: 'lf' | 'crlf';
  readonly sha256_before: string;
  readonly sha256: string;
  readonly not_kept?: readonly Loss[];
}

const MOST_LINES = 1000;

export async function runFileEdit(args: FileEditArgs, ctx: ToolContext): Promise<FileEditData> {
  const { path } = args;
  const edits = editsOf(args);
  const before = await readBefore(ctx, path, 'edit', args.expected_sha256);
  if (!isText(before.bytes)) {
    throw fail('input.encoding', `Cannot edit "${path}": it is binary, or not UTF-8`);
  }
  const replaced = replaceText(asBuffer(before.bytes).toString('utf8'), edits);
  if (!replaced.ok) throw refusal(path, replaced, edits.length);
  const bytes = Buffer.from(replaced.text, 'utf8');
  const edit: Edit = { op: 'write', path, bytes, createDirs: false, expectedSha256: before.sha256 };
  const answer = {
    replacements: replaced.lines.length,
    lines: replaced.lines.slice(0, MOST_LINES),
    ...(replaced.adapted ? { line_ends_adapted: replaced.adapted } : {}),
    sha256_before: before.sha256,
    sha256: sha256Hex(bytes),
  };
  if (args.dry_run) {
    const changes = await ctx.fs.preview([edit]);
    const diff = await diffOf({ path, bytes: before.bytes }, { path, bytes });
    return { edited: false, ...answer, ...previewOf(ctx, changes, diff) };
  }
  const lost = lossesOf(ctx, await ctx.fs.mutate([edit]), 'kept');
  return { edited: true, ...answer, ...(lost.length > 0 ? { not_kept: lost } : {}) };
}

/** Either old and new, or edits: both would leave open which of them counts. */
function editsOf({ path, old, new: fresh, expected_count, edits }: FileEditArgs): readonly TextEdit[] {
  const cannot = (fact: string) => fail('input.schema', `Cannot edit "${path}": ${fact}`);
  if (edits !== undefined) {
    // A default cannot be told from a 1 that was sent, and does no harm.
    if (old !== undefined || fresh !== undefined || (expected_count ?? 1) !== 1) {
      throw cannot('give either edits, or old, new and expected_count');
    }
    return edits.map((one) => ({ old: one.old, new: one.new, count: one.expected_count }));
  }
  if (old === undefined) throw cannot('missing argument: old');
  if (fresh === undefined) throw cannot('missing argument: new (give "" to remove old)');
  return [{ old, new: fresh, count: expected_count ?? 1 }];
}

function refusal(path: string, refused: ReplaceRefusal, of: number): Failure {
  const { reason, edit, fact, candidates, found, actual } = refused;
  const which = of > 1 ? `edit ${edit}: ` : '';
  return fail(reason, `Cannot edit "${path}": ${which}${fact}`, {
    path,
    ...(of > 1 ? { edit } : {}),
    ...(candidates === undefined ? {} : { candidates }),
    ...(found === undefined ? {} : { found }),
    ...(actual === undefined ? {} : { actual: { ...actual } as JsonObject }),
  });
}
