// Owns: what a taken-apart shell line would touch, as effects: the same list before it runs and when it runs.
// Refuses: to take lines apart; see base/shell.
import type { ShellListing } from '../base/shell/analysis.ts';
import type { Effect } from './effect.ts';
import { fail, isFailure } from './errors.ts';

/** Any connection that policy allows; each is decided by itself when a program asks for it. */
export const ANY_CONNECTION: Effect = { kind: 'net.connect', scheme: '*', host: '*', port: 0 };

/** The sandbox has a /tmp of its own: what is written there is gone with it, unless the workspace lies there. */
const PRIVATE = /^\/(tmp|dev)\//;

export function shellEffects(
  { commands, redirects }: ShellListing,
  cwd: string,
  network: boolean,
  place: (path: string) => string,
): readonly Effect[] {
  const effects: Effect[] = commands.map(({ canonical }) => ({ kind: 'exec', command: canonical }));
  const start = shellPlace(cwd, place);
  // Who starts in a folder reads it; that the workspace is there everybody knows.
  if (start !== '.') effects.push({ kind: 'fs.read', path: start });
  for (const { access, candidates } of redirects) {
    for (const candidate of candidates) {
      const path = placeOf(candidate.startsWith('/') ? candidate : `${cwd}/${candidate}`, place);
      if (path === undefined) continue;
      if (access !== 'write') effects.push({ kind: 'fs.read', path });
      if (access !== 'read') effects.push({ kind: 'fs.write', path });
    }
  }
  if (network) effects.push(ANY_CONNECTION);
  return effects;
}

/**
 * Undefined where the path is one of the sandbox's own. No line of haft.yaml admits what lies beyond the workspace: programs
 * do not see `paths.extra_roots`.
 */
function placeOf(path: string, place: (path: string) => string): string | undefined {
  try {
    return shellPlace(path, place);
  } catch (thrown) {
    if (PRIVATE.test(path) && !path.includes('..')) return undefined;
    throw thrown;
  }
}

/** Where a program may start or the shell may open a file: in the workspace only. */
export function shellPlace(path: string, place: (path: string) => string): string {
  const beyond = () =>
    fail('path.outside_workspace', 'Cannot use the path: programs see nothing but the workspace');
  let placed: string;
  try {
    placed = place(path);
  } catch (thrown) {
    throw isFailure(thrown) && thrown.reason === 'path.outside_workspace' ? beyond() : thrown;
  }
  if (placed.startsWith('/')) throw beyond();
  return placed;
}
