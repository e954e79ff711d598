// Owns: one tool of a list by its id, or the nearest name.
// Refuses: to hide one that is disabled, and to call one unknown whose pack could not be asked.
import { closest } from '../base/closest.ts';
import { fail } from '../contract/errors.ts';
import type { PackState, Runtime, ToolListing } from '../contract/runtime.ts';

interface Listed extends Pick<Runtime, 'tools' | 'installations'> {
  packs(): readonly PackState[];
}

/** Throws `tool.unknown`; `tool.unhealthy` where its pack is not there, `tool.disabled` where that is not open. */
export async function findListing(
  runtime: Listed,
  id: string,
  action: 'show' | 'call' = 'show',
): Promise<ToolListing> {
  const find = () => runtime.tools().find(({ contract }) => contract.id === id);
  const known = find();
  if (known) return known;
  const pack = id.split('.')[0] ?? '';
  await runtime.installations.settle({ name: pack });
  const found = find();
  if (found) return found;
  const shown = `Cannot ${action} "${id.slice(0, 80)}"`;
  const state = runtime.packs().find(({ name }) => name === pack);
  if (state?.status === 'unhealthy' && state.tools === 0)
    throw fail('tool.unhealthy', `${shown}: the pack "${pack}" is not there: ${state.message ?? ''}`, {
      pack,
      hint: `haft tools logs ${pack} shows what it wrote`,
    });
  const closed = await runtime.installations.explainMissing(id);
  if (closed)
    throw fail(closed.reason, closed.message.replace(/^Cannot call "[^"]*"/, shown), closed.details);
  const near = closest(
    id,
    runtime.tools().map(({ contract }) => contract.id),
  );
  const hint = near ? `; did you mean "${near}"?` : '';
  throw fail('tool.unknown', `${shown}: no such tool${hint}`);
}
