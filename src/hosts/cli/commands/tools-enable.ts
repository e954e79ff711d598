// Owns: `haft tools enable` and `haft tools disable`: whether a pack is opened at all.
// Refuses: single tools, which policy decides about, and to overrule haft.yaml.

import { isFrozenRun } from '../../../preset/open-host.ts';
import { withWorkspacePacks } from '../../../preset/packs/workspace-packs.ts';
import type { Command, Invocation } from '../command.ts';

export const enable: Command = {
  summary: 'Let the tools of a pack be called again',
  usage: 'PACK',
  examples: ['haft tools enable hub'],
  positionals: [1, 1],
  run: (invocation) => turn(invocation, true),
};

export const disable: Command = {
  summary: 'Leave a pack out, with all of its tools',
  usage: 'PACK',
  description: 'Holds for packs of haft.yaml as well. To forbid single tools, use tools.rules of haft.yaml.',
  examples: ['haft tools disable hub'],
  positionals: [1, 1],
  run: (invocation) => turn(invocation, false),
};

async function turn(
  { positionals, workspace, io, json, flags }: Invocation,
  enabled: boolean,
): Promise<number> {
  const name = positionals[0]!;
  const changed = await withWorkspacePacks(workspace, (packs) => packs.enable(name, enabled), {
    frozen: isFrozenRun(flags),
  });
  const state = enabled ? 'enabled' : 'disabled';
  if (json) io.out(`${JSON.stringify({ pack: name, enabled, changed })}\n`);
  else io.out(changed ? `${state} ${name}\n` : `${name} is ${state} already\n`);
  return 0;
}
