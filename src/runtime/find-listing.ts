// Owns: one tool of a list by its id, or the nearest name.
// Refuses: to hide one that is disabled.
import { closest } from '../base/closest.ts';
import { fail } from '../contract/errors.ts';
import type { ToolListing } from '../contract/runtime.ts';

/** Throws `tool.unknown`. */
export function findListing(tools: readonly ToolListing[], id: string): ToolListing {
  const found = tools.find(({ contract }) => contract.id === id);
  if (found) return found;
  const near = closest(
    id,
    tools.map(({ contract }) => contract.id),
  );
  const hint = near ? `; did you mean "${near}"?` : '';
  throw fail('tool.unknown', `Cannot show "${id.slice(0, 80)}": no such tool${hint}`);
}
