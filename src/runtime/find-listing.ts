// Owns: one tool of a list by its id, or why there is none.
// Refuses: to hide one that is disabled, and to call one unknown whose pack could not be asked.
import { fail } from '../contract/errors.ts';
import type { PackState, Runtime, ToolListing } from '../contract/runtime.ts';

interface Listed extends Pick<Runtime, 'tools' | 'installations'> {
  packs(): readonly PackState[];
}

/** Throws what a call would be refused with; `tool.unhealthy` where its pack is not there. */
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
  const { reason, message, details } = await runtime.installations.explainMissing(id);
  throw fail(reason, message.replace(/^Cannot call "[^"]*"/, shown), details);
}
