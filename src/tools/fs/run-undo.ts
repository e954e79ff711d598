// Owns: what `undo` does: taking back what one earlier call changed, or saying why it cannot: which entries changed since, and how.
// Refuses: to be loaded before the first undo, and to be the guard; the fs capability has refused before a conflict is explained.
import { sha256Hex } from '../../base/digest.ts';
import type {
  CallHistory,
  Change,
  Edit,
  EntryStat,
  EntryState,
  Loss,
  ToolContext,
} from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { EffectSite } from '../../contract/tool.ts';
import { lossesOf, type Preview } from './arguments.ts';
import { diffOf, previewOf, readShown } from './preview.ts';

export interface UndoArgs {
  readonly call_id: string;
  readonly dry_run: boolean;
  readonly no_undo: boolean;
}

export interface UndoData extends Partial<Preview> {
  readonly undone: boolean;
  readonly restored: readonly string[];
  readonly removed?: readonly string[];
  readonly not_restored?: readonly Loss[];
}

export async function undoEffects(args: UndoArgs, site: EffectSite): Promise<readonly Effect[]> {
  const history = await site.history.changes(args.call_id);
  return history ? history.changes.flatMap(effectsOf) : [];
}

export async function runUndo(args: UndoArgs, ctx: ToolContext): Promise<UndoData> {
  const { changes } = await undoable(args.call_id, ctx);
  // The last change first: a file goes before the folder that was made for it.
  const edits = changes.toReversed().map((change): Edit => ({ op: 'revert', change }));
  const reverted = await (args.dry_run ? ctx.fs.preview(edits) : ctx.fs.mutate(edits)).catch(
    async (thrown: unknown) => {
      if (!isFailure(thrown)) throw thrown;
      // It may have been given up since this looked.
      if (thrown.reason === 'object.missing') await undoable(args.call_id, ctx);
      if (thrown.reason !== 'undo.conflict') throw thrown;
      throw await explainConflict(ctx, args.call_id, changes, thrown);
    },
  );
  const isGone = ({ after }: Change) => after === undefined || after === null;
  const gone = new Set(reverted.flatMap((change) => (isGone(change) ? [change.path] : movedAway(change))));
  const restored = [...new Set(reverted.flatMap(touched))].filter((path) => !gone.has(path)).sort();
  const removed = gone.size > 0 ? { removed: [...gone].sort() } : {};
  if (restored.length + gone.size === 0) {
    const message = `Nothing had to be restored: all is as it was before "${args.call_id}"`;
    ctx.warn({ reason: 'undo.nothing', message });
  }
  const lost = lossesOf(ctx, reverted, 'restored');
  const notRestored = lost.length > 0 ? { not_restored: lost } : {};
  if (!args.dry_run) {
    ctx.testify({ undoes: args.call_id });
    return { undone: true, restored, ...removed, ...notRestored };
  }
  const diff = await restoringDiff(ctx, args.call_id, reverted);
  return { undone: false, restored, ...removed, ...notRestored, ...previewOf(ctx, reverted, diff) };
}

async function undoable(callId: string, ctx: ToolContext): Promise<CallHistory> {
  const history = await ctx.history.changes(callId);
  if (!history) throw fail('undo.unknown', `Cannot undo "${callId}": no call of this id changed anything`);
  if (history.changes.length === 0) {
    const fact = `what "${history.tool}" changed is not known: only changes that Haft's own file tools make are kept`;
    throw fail('undo.not_known', `Cannot undo "${callId}": ${fact}`, { call_id: callId, tool: history.tool });
  }
  const undoneBy = await ctx.history.undoneBy(callId);
  if (undoneBy !== undefined) {
    const fact = `it is already undone, by "${undoneBy}"; undo that one to have its changes again`;
    throw fail('undo.already', `Cannot undo "${callId}": ${fact}`, { call_id: callId, undone_by: undoneBy });
  }
  const gone = history.changes.find((change) => change.before?.type === 'file' && !change.stored);
  if (!gone) return restorable(history);
  const fact = `what "${gone.path}" held was not kept (no_undo)`;
  throw fail('undo.unknown', `Cannot undo "${callId}": ${fact}`, { path: gone.path });
}

/** Refused also where the bytes happen to be there still: they may go at any moment. */
function restorable(history: CallHistory): CallHistory {
  const { callId, changes, givenUp } = history;
  const needed = givenUp && changes.find(({ before }) => before?.type === 'file');
  if (!needed) return history;
  const fact = `what "${needed.path}" held is kept no longer (undo.keep in haft.yaml says for how long)`;
  throw fail('undo.given_up', `Cannot undo "${callId}": ${fact}`, { call_id: callId, path: needed.path });
}

/** Reading too: a refusal and a dry run show content. */
function effectsOf(change: Change): Effect[] {
  const tree =
    change.movedFrom !== undefined || change.fingerprint !== undefined ? { tree: true as const } : {};
  return touched(change).flatMap((path): Effect[] => [
    { kind: 'fs.read', path, ...tree },
    { kind: 'fs.write', path, ...tree },
  ]);
}

const movedAway = ({ movedFrom }: Change): string[] => (movedFrom === undefined ? [] : [movedFrom]);

function touched({ path, movedFrom }: Change): string[] {
  return movedFrom === undefined ? [path] : [path, movedFrom];
}

/** What an undo would do to the files as they are. Undefined where a part of it cannot be shown. */
async function restoringDiff(
  ctx: ToolContext,
  callId: string,
  reverted: readonly Change[],
): Promise<string | undefined> {
  const diffs: string[] = [];
  for (const { path, before, after, movedFrom } of reverted) {
    if (movedFrom !== undefined) return undefined;
    if (before?.type !== 'file' && after?.type !== 'file') continue;
    const present = before?.type === 'file' ? await readShown(ctx, path) : undefined;
    const past = after?.type === 'file' ? await ctx.history.content(callId, path, 'before') : undefined;
    if ((before?.type === 'file' && !present) || (after?.type === 'file' && !past)) return undefined;
    const diff = await diffOf(present && { path, bytes: present }, past && { path, bytes: past });
    if (diff === undefined) return undefined;
    diffs.push(diff);
  }
  return diffs.join('');
}

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
async function explainConflict(
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
