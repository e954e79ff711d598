// Owns: what a taken-apart shell line would touch, as effects: the same list before it runs and when it runs.
// Refuses: to take lines apart; see base/shell.
import type { ShellListing } from '../base/shell/analysis.ts';
import type { Effect } from './effect.ts';

/** Any connection that policy allows; each is decided by itself when a program asks for it. */
export const ANY_CONNECTION: Effect = { kind: 'net.connect', scheme: '*', host: '*', port: 0 };

/** The sandbox has a /tmp of its own: what is written there is gone with it. */
const PRIVATE = /^\/(tmp|dev)\//;

export function shellEffects(
  { commands, redirects }: ShellListing,
  cwd: string,
  network: boolean,
  place: (path: string) => string,
): readonly Effect[] {
  const effects: Effect[] = commands.map(({ canonical }) => ({ kind: 'exec', command: canonical }));
  for (const { access, candidates } of redirects) {
    for (const candidate of candidates) {
      if (PRIVATE.test(candidate) && !candidate.includes('..')) continue;
      const path = place(candidate.startsWith('/') ? candidate : `${cwd}/${candidate}`);
      if (access !== 'write') effects.push({ kind: 'fs.read', path });
      if (access !== 'read') effects.push({ kind: 'fs.write', path });
    }
  }
  if (network) effects.push(ANY_CONNECTION);
  return effects;
}
