// Owns: the answer of a dry run: what an edit would change, as a diff where that can be read.
// Refuses: to promise: the real call looks again, under its locks.
import { makeUnifiedDiff } from '../../base/unified-diff/make-diff.ts';
import type { Edit, ToolContext } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { PlannedChange, Preview } from './arguments.ts';
import { lookAt, type Present, requireVersion, SHOWN_BYTES } from './present.ts';
import { asBuffer, isText } from './text-content.ts';

type Edits<Op extends Edit['op']> = Extract<Edit, { op: Op }>;

/** Entries of a tree that a dry run names one by one. */
const SHOWN_ENTRIES = 1000;

export async function previewWrite(ctx: ToolContext, edit: Edits<'write'>): Promise<Preview> {
  const present = await lookAt(ctx, edit.path);
  await requireVersion(ctx, edit.path, present, edit.expectedSha256);
  if (present && edit.mustCreate) throw exists('write', edit.path);
  if (present && !present.bytes && present.stat.type !== 'file') throw notAFile('write', edit.path, present);
  if (!present && !edit.createDirs) await requireFolder(ctx, edit.path);
  const change = present ? 'modify' : 'create';
  const diff = await diffOf(present && edit.path, edit.path, present, edit.bytes);
  return preview([{ path: edit.path, change, bytes: edit.bytes.length }], diff);
}

export async function previewMove(ctx: ToolContext, edit: Edits<'move' | 'copy'>): Promise<Preview> {
  const { from, to, op } = edit;
  const source = await ctx.fs.stat(from);
  if (!source) throw fail('path.not_found', `Cannot ${op} "${from}": nothing is there`);
  const target = await ctx.fs.stat(to);
  if (target && !edit.overwrite) throw exists(op, to);
  if (edit.expectedSha256) await requireVersion(ctx, from, await lookAt(ctx, from), edit.expectedSha256);
  if (!target && !edit.createDirs) await requireFolder(ctx, to);
  if (op === 'move') {
    const header = source.type === 'file' && !target ? await makeUnifiedDiff(from, to, '', '') : undefined;
    return preview([{ path: to, change: 'move', from }], header);
  }
  const inside = source.type === 'dir' ? await entriesBelow(ctx, from) : [];
  const copies = inside.map((path) => to + path.slice(from.length));
  return preview(
    [{ path: to, change: 'copy', from }, ...copies.map((path): PlannedChange => ({ path, change: 'copy' }))],
    undefined,
  );
}

export async function previewDelete(ctx: ToolContext, edit: Edits<'delete'>): Promise<Preview> {
  const present = await lookAt(ctx, edit.path);
  const stat = present?.stat ?? (await ctx.fs.stat(edit.path));
  if (!stat) {
    if (edit.force) return preview([], undefined);
    throw fail('path.not_found', `Cannot delete "${edit.path}": nothing is there`);
  }
  await requireVersion(ctx, edit.path, present, edit.expectedSha256);
  if (stat.type !== 'dir') {
    const diff = stat.type === 'file' ? await diffOf(edit.path, undefined, present, undefined) : undefined;
    return preview([{ path: edit.path, change: 'delete', bytes: stat.size }], diff);
  }
  const inside = await entriesBelow(ctx, edit.path);
  if (inside.length > 0 && !edit.recursive) {
    throw fail(
      'path.not_empty',
      `Cannot delete "${edit.path}": it is not empty; pass recursive to delete it all`,
    );
  }
  return preview(
    [edit.path, ...inside].map((path) => ({ path, change: 'delete' })),
    undefined,
  );
}

export function preview(changes: readonly PlannedChange[], diff: string | undefined): Preview {
  return { dry_run: true, changes, ...(diff === undefined ? {} : { diff }) };
}

/** A unified diff, or undefined where one side is binary or too large to read. */
export async function diffOf(
  pathBefore: string | undefined,
  pathAfter: string | undefined,
  before: { readonly bytes?: Uint8Array } | undefined,
  after: Uint8Array | undefined,
): Promise<string | undefined> {
  const old = before === undefined ? new Uint8Array() : before.bytes;
  const fresh = after ?? new Uint8Array();
  if (!old || old.length > SHOWN_BYTES || fresh.length > SHOWN_BYTES || !isText(old) || !isText(fresh)) {
    return undefined;
  }
  const texts = [old, fresh].map((bytes) => asBuffer(bytes).toString('utf8')) as [string, string];
  return makeUnifiedDiff(pathBefore ?? null, pathAfter ?? null, ...texts);
}

async function entriesBelow(ctx: ToolContext, path: string): Promise<readonly string[]> {
  const { files, truncated } = await ctx.fs.list({
    glob: `${path.replace(/[\\*?[\]{}]/g, '\\$&')}/**`,
    maxResults: SHOWN_ENTRIES,
    includeHidden: true,
    includeIgnored: true,
    includeDirs: true,
  });
  if (truncated) {
    const message = `Named only the first ${SHOWN_ENTRIES} entries below "${path}"`;
    ctx.warn({ reason: 'content.truncated', message });
  }
  return files;
}

async function requireFolder(ctx: ToolContext, path: string): Promise<void> {
  const slash = path.replace(/\/+$/, '').lastIndexOf('/');
  if (slash <= 0 || (await ctx.fs.stat(path.slice(0, slash)))) return;
  throw fail('path.not_found', `Cannot write "${path}": its folder does not exist; pass create_dirs`);
}

function exists(verb: string, path: string) {
  return fail('path.exists', `Cannot ${verb} "${path}": something is already there`);
}

function notAFile(verb: string, path: string, { stat }: Present) {
  return stat.type === 'other'
    ? fail('path.not_regular', `Cannot ${verb} "${path}": it is neither a regular file nor a directory`)
    : fail('path.is_directory', `Cannot ${verb} "${path}": it is a directory`);
}
