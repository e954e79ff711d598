// Owns: `haft tools config`: the packs of this workspace, and what one that was added is configured with.
// Refuses: packs that haft.yaml names: a person changes those there.

import { table } from '../../../contract/terminal-text.ts';
import { isFrozenRun } from '../../../preset/open-host.ts';
import { withWorkspacePacks } from '../../../preset/packs/workspace-packs.ts';
import type { Command } from '../command.ts';
import { readObjectArgument } from '../read-argument.ts';

export const command: Command = {
  summary: 'List the packs, show what one needs, or change that',
  usage: '[PACK [JSON | @file]]',
  description:
    'What is given takes the place of what was there, whole, after the server was reached by it. Where that changes its tools and ' +
    'there is a haft.lock, they are quarantined until haft tools lock --accept.',
  examples: [
    'haft tools config',
    'haft tools config memory',
    `haft tools config hub '{"url":"https://mcp.example.org/v2"}'`,
  ],
  positionals: [0, 2],
  async run({ positionals, workspace, io, json, flags }) {
    const [name, given] = positionals;
    const use = withWorkspacePacks;
    if (name === undefined) {
      const packs = await use(workspace, (all) => all.list());
      if (json) io.out(`${JSON.stringify({ packs })}\n`);
      else if (packs.length === 0) io.out('No packs are installed.\n');
      else {
        const rows = packs.map((one) => [one.name, one.kind, one.from, one.enabled ? '' : 'disabled']);
        io.out(table(rows, ['PACK', 'KIND', 'FROM', 'STATE']));
      }
      return 0;
    }
    if (given === undefined) {
      const pack = await use(workspace, (all) => all.show(name));
      io.out(`${json ? JSON.stringify(pack) : JSON.stringify(pack.config, null, 2)}\n`);
      return 0;
    }
    const config = await readObjectArgument(given, 'the config');
    const frozen = isFrozenRun(flags);
    const {
      tools,
      quarantined,
      problems = [],
    } = await use(workspace, (all) => all.configure(name, config), {
      frozen,
    });
    if (json)
      io.out(
        `${JSON.stringify({ configured: name, tools, quarantined, ...(problems.length > 0 ? { problems } : {}) })}\n`,
      );
    else {
      for (const problem of problems) io.err(`haft: ${problem}\n`);
      io.out(`configured ${name}: ${tools.length} tools\n`);
      for (const id of quarantined) io.err(`haft: ${id} is not what was accepted; see haft tools lock\n`);
    }
    return 0;
  },
};
