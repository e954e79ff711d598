// Owns: explaining why an undo was refused: which entries changed since the call, and how.
// Refuses: to be the guard; the fs capability has refused before this is asked.
import { sha256Hex } from '../../base/digest.ts';
import type { Change, EntryStat, EntryState, ToolContext } from '../../contract/capability.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import { diffOf, readShown } from './preview.ts';

interface Conflict {
  readonly path: string;
  readonly fact: string;
  /** What changed since the call; where the call's own result is no longer kept, since before it. */
  readonly diff?: string;
  readonly diff_since?: 'after' | 'before';
}

/** Conflicts that are worth showing; there may be more. */
const SHOWN = 10;

/** The refusal with everything that a caller needs to go on. */
export async function explainConflict(
  ctx: ToolContext,
  callId: string,
  changes: readonly Change[],
  refused: Failure,
): Promise<Failure> {
  const conflicts: Conflict[] = [];
  for (const change of changes) {
    ctx.signal.throwIfAborted();
    const conflict = await conflictAt(ctx, callId, change);
    if (conflict) conflicts.push(conflict);
    if (conflicts.length === SHOWN) break;
  }
  const facts = conflicts.map(({ path, fact }) => `"${path}" ${fact}`).join('; ');
  const message = facts === '' ? refused.message : `Cannot undo "${callId}": ${facts}`;
  const details = { call_id: callId, conflicts: conflicts.map((one): Json => ({ ...one })) };
  return fail('undo.conflict', message, details);
}

/** An entry that is as it was before the call is none: there is nothing to undo about it. */
async function conflictAt(ctx: ToolContext, callId: string, change: Change): Promise<Conflict | undefined> {
  const { path, before, after } = change;
  const stat = await ctx.fs.stat(path);
  const bytes = stat?.type === 'file' ? await readShown(ctx, path) : undefined;
  const isNow = (state: EntryState | null): boolean => {
    if (state === null || !stat) return state === null && !stat;
    if (state.type !== stat.type) return false;
    if (state.type !== 'file') return true;
    if (state.size !== stat.size || state.mode !== (stat.mode & 0o7777)) return false;
    return bytes === undefined || `sha256:${sha256Hex(bytes)}` === state.object;
  };
  if (isNow(after) || (isNow(before) && change.movedFrom === undefined)) return undefined;
  const present = bytes && { path, bytes };
  const showable = !stat || present !== undefined;
  const diff = showable ? await diffSince(ctx, callId, change, present) : {};
  return { path, fact: factOf(after, stat), ...diff };
}

function factOf(after: EntryState | null, stat: EntryStat | undefined): string {
  if (!stat) return 'is gone';
  if (after === null) return 'is there again';
  if (stat.type !== after.type) return `is now a ${stat.type}`;
  const sameBits = after.type !== 'file' || (stat.mode & 0o7777) === after.mode;
  return sameBits ? 'has other content by now' : 'has other permission bits by now';
}

async function diffSince(
  ctx: ToolContext,
  callId: string,
  { path, before, after }: Change,
  present: { readonly path: string; readonly bytes: Uint8Array } | undefined,
): Promise<Pick<Conflict, 'diff' | 'diff_since'>> {
  const sides = [
    ['after', after],
    ['before', before],
  ] as const;
  for (const [side, state] of sides) {
    if (state !== null && state.type !== 'file') continue;
    const bytes = state ? await ctx.history.content(callId, path, side) : undefined;
    if (state && !bytes) continue;
    const diff = await diffOf(bytes && { path, bytes }, present);
    if (diff !== undefined) return { diff, diff_since: side };
  }
  return {};
}
