// Owns: the answer of a dry run: the planned changes, and a diff where that can be read.
// Refuses: to decide what would be refused; the plan of the real change does, by `fs.preview`.
import type { makeUnifiedDiff } from '../../base/unified-diff/make-diff.ts';
import type { Change, Edit, EntryState, ToolContext } from '../../contract/capability.ts';
import { isFailure } from '../../contract/errors.ts';
import type { PlannedChange, Preview } from './arguments.ts';
import { asBuffer, isText } from './text-content.ts';

/** Entries of a tree that a dry run names one by one. */
const SHOWN_ENTRIES = 1000;
/** Over this much content a diff helps nobody. */
const SHOWN_BYTES = 2 * 1024 * 1024;

/** What one edit would change. The call must have declared that it reads what a diff shows. */
export async function previewEdit(ctx: ToolContext, edit: Exclude<Edit, { op: 'revert' }>): Promise<Preview> {
  const changes = await ctx.fs.preview([edit]);
  return previewOf(ctx, changes, await diffOfEdit(ctx, edit, changes));
}

export function previewOf(ctx: ToolContext, changes: readonly Change[], diff: string | undefined): Preview {
  if (changes.length > SHOWN_ENTRIES) {
    const message = `Named only the first ${SHOWN_ENTRIES} of ${changes.length} changes`;
    ctx.warn({ reason: 'content.truncated', message });
  }
  const shown = changes.slice(0, SHOWN_ENTRIES).map(planned);
  return { dry_run: true, changes: shown, ...(diff === undefined ? {} : { diff }) };
}

/** A unified diff, or undefined where one side is binary or too large to read. Undefined bytes are no file. */
export async function diffOf(
  before: { readonly path: string; readonly bytes: Uint8Array } | undefined,
  after: { readonly path: string; readonly bytes: Uint8Array } | undefined,
): Promise<string | undefined> {
  const sides = [before?.bytes ?? NOTHING, after?.bytes ?? NOTHING];
  if (sides.some((bytes) => bytes.length > SHOWN_BYTES || !isText(bytes))) return undefined;
  const [old, fresh] = sides.map((bytes) => asBuffer(bytes).toString('utf8')) as [string, string];
  return unifiedDiff(before?.path ?? null, after?.path ?? null, old, fresh);
}

/** The bytes of a file that a diff may show; undefined when it is too large, or nothing is there. */
export async function readShown(ctx: ToolContext, path: string): Promise<Uint8Array | undefined> {
  try {
    return (await ctx.fs.read(path, { maxBytes: SHOWN_BYTES })).bytes;
  } catch (thrown) {
    if (isFailure(thrown) && (thrown.reason === 'file.too_large' || thrown.reason === 'path.not_found')) {
      return undefined;
    }
    throw thrown;
  }
}

/** The engine comes with the first diff. */
async function unifiedDiff(...args: Parameters<typeof makeUnifiedDiff>): Promise<string> {
  return (await import('../../base/unified-diff/make-diff.ts')).makeUnifiedDiff(...args);
}

const NOTHING = new Uint8Array();

async function diffOfEdit(
  ctx: ToolContext,
  edit: Exclude<Edit, { op: 'revert' }>,
  changes: readonly Change[],
): Promise<string | undefined> {
  const change = changes.at(-1);
  if (!change) return undefined;
  const { before, after, path, movedFrom } = change;
  if ('from' in edit) {
    if (after?.type !== 'file') return undefined;
    if (movedFrom !== undefined) return before === null ? unifiedDiff(movedFrom, path, '', '') : undefined;
    return edit.op === 'copy' ? diffOfCopy(ctx, edit, change) : undefined;
  }
  if (edit.op === 'delete' && (changes.length > 1 || before?.type !== 'file')) return undefined;
  const old = before === null ? NOTHING : await readShown(ctx, edit.path);
  if (old === undefined) return undefined;
  return diffOf(
    before === null ? undefined : { path, bytes: old },
    edit.op === 'write' ? { path, bytes: edit.bytes } : undefined,
  );
}

/** Of one file: what its copy would replace, and with what. */
async function diffOfCopy(
  ctx: ToolContext,
  edit: { readonly from: string; readonly to: string },
  { path, before }: Change,
): Promise<string | undefined> {
  if ((await ctx.fs.stat(edit.from))?.type !== 'file') return undefined;
  const fresh = await readShown(ctx, edit.from);
  const old = before === null ? NOTHING : await readShown(ctx, edit.to);
  if (!fresh || !old) return undefined;
  return diffOf(before === null ? undefined : { path, bytes: old }, { path, bytes: fresh });
}

function planned({ path, before, after, movedFrom }: Change): PlannedChange {
  const bytes = sizeOf(after) ?? sizeOf(before);
  const size = bytes === undefined ? {} : { bytes };
  const named = (after ?? before)?.type === 'dir' ? `${path}/` : path;
  if (movedFrom !== undefined) return { path: named, change: 'move', from: movedFrom, ...size };
  return { path: named, change: before === null ? 'create' : after === null ? 'delete' : 'modify', ...size };
}

function sizeOf(state: EntryState | null): number | undefined {
  return state?.type === 'file' ? state.size : undefined;
}
