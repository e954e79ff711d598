// Owns: telling, before an undo, what changed since the call; and showing both sides of it.
// Refuses: to be the guard: the fs capability checks every entry again when it restores.
import { sha256Hex } from '../../base/digest.ts';
import type { Change, EntryState, ToolContext } from '../../contract/capability.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import { lookAt, type Present } from './present.ts';
import { diffOf } from './preview.ts';

export interface Conflict {
  readonly path: string;
  readonly fact: string;
  /** What changed since the call; where the call's own result is no longer kept, since before it. */
  readonly diff?: string;
  readonly diff_since?: 'after' | 'before';
}

/** Conflicts that are worth showing; there may be more. */
const SHOWN = 10;

export async function conflictsWith(
  ctx: ToolContext,
  callId: string,
  changes: readonly Change[],
): Promise<readonly Conflict[]> {
  const conflicts: Conflict[] = [];
  for (const change of changes) {
    if (conflicts.length === SHOWN) break;
    ctx.signal.throwIfAborted();
    const present = await presentAt(ctx, change.path);
    const fact = difference(change.after, present);
    if (fact) conflicts.push({ path: change.path, fact, ...(await diffSince(ctx, callId, change, present)) });
  }
  return conflicts;
}

export function undoConflict(callId: string, conflicts: readonly Conflict[]): Failure {
  const facts = conflicts.map(({ path, fact }) => `"${path}" ${fact}`).join('; ');
  const details = { call_id: callId, conflicts: conflicts.map((one): Json => ({ ...one })) };
  return fail('undo.conflict', `Cannot undo "${callId}": ${facts}`, details);
}

/** What an undo would do to the files as they are. Undefined where a part of it cannot be read. */
export async function restoringDiff(
  ctx: ToolContext,
  callId: string,
  changes: readonly Change[],
): Promise<string | undefined> {
  const diffs: string[] = [];
  for (const { path, before, after, movedFrom } of changes) {
    if (movedFrom !== undefined) return undefined;
    if (before?.type !== 'file' && after?.type !== 'file') continue;
    const present = await presentAt(ctx, path);
    const old = before?.type === 'file' ? await ctx.history.content(callId, path, 'before') : undefined;
    const diff = await diffOf(present && path, before === null ? undefined : path, present, old);
    if (diff === undefined) return undefined;
    diffs.push(diff);
  }
  return diffs.join('');
}

/** A link counts as itself. */
async function presentAt(ctx: ToolContext, path: string): Promise<Present | undefined> {
  const stat = await ctx.fs.stat(path);
  if (stat?.type !== 'file') return stat && { stat };
  return lookAt(ctx, path);
}

function difference(after: EntryState | null, present: Present | undefined): string | undefined {
  if (after === null) return present && 'is there again';
  if (!present) return 'is gone';
  if (present.stat.type !== after.type) return `is now a ${present.stat.type}`;
  if (after.type !== 'file') return undefined;
  if (present.stat.size !== after.size) return 'has other content';
  return present.bytes && `sha256:${sha256Hex(present.bytes)}` !== after.object
    ? 'has other content'
    : undefined;
}

async function diffSince(
  ctx: ToolContext,
  callId: string,
  { path, before, after }: Change,
  present: Present | undefined,
): Promise<Pick<Conflict, 'diff' | 'diff_since'>> {
  for (const [side, state] of [
    ['after', after],
    ['before', before],
  ] as const) {
    if (state !== null && state.type !== 'file') continue;
    const bytes = state ? await ctx.history.content(callId, path, side) : new Uint8Array();
    if (!bytes || (present && !present.bytes)) continue;
    const diff = await diffOf(state ? path : undefined, present && path, { bytes }, present?.bytes);
    if (diff !== undefined) return { diff, diff_since: side };
  }
  return {};
}
