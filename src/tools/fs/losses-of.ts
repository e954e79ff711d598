// Owns: what a change could not give back or keep, for its answer and as a warning.
// Refuses: to find it out; the fs capability does, entry by entry.
import type { Change, Loss, ToolContext } from '../../contract/capability.ts';

/** What entries should have and could not be given, with a warning that counts them. */
export function lossesOf(
  ctx: ToolContext,
  changes: readonly Change[],
  verb: 'restored' | 'kept',
): readonly Loss[] {
  const lost = changes.flatMap(({ path, lost = [] }) => lost.map((one) => ({ path, ...one })));
  const [first] = lost;
  if (!first) return [];
  const more = lost.length > 1 ? `, and ${lost.length - 1} more` : '';
  const message = `Not ${verb}: ${first.what.replaceAll('_', ' ')} of "${first.path}" (${first.why})${more}`;
  ctx.warn({ reason: 'file.not_kept', message });
  return lost;
}
