// Owns: `haft tools list`.
// Refuses: to hide a disabled tool: it is listed with the line that would grant it.
import type { PackState, ToolListing } from '../../../contract/runtime.ts';
import { toolStateToWire, toWire } from '../../../contract/spelling.ts';
import { table } from '../../../contract/terminal-text.ts';
import { tellUnnamedPacks } from '../../../preset/adopt-policy.ts';
import type { Command } from '../command.ts';
import { whyDisabled, whyDown } from '../describe-tool.ts';

export const command: Command = {
  summary: 'List the installed tools',
  usage: '',
  examples: ['haft tools list', 'haft tools list --json'],
  positionals: [0, 0],
  async run({ runtime, io, json }) {
    const host = await runtime();
    await host.installations.settle();
    const tools = host.tools();
    const packs = host.packs();
    if (json) {
      const rows = tools.map((one) => {
        const { id, version, title, mutates } = one.contract;
        return { id, version, title, mutates, ...toolStateToWire(one) };
      });
      io.out(`${JSON.stringify({ tools: rows, packs: packs.map(toWire) })}\n`);
      return 0;
    }
    const rows = tools.map((one) => [one.contract.id, stateOf(one), one.contract.title]);
    const missing = packs
      .filter(isMissing)
      .map(({ name, message = '' }) => [`${name}.*`, 'not there', message]);
    io.out(table([...rows, ...missing], ['TOOL', 'STATE', 'WHAT IT DOES']));
    io.err(whyDisabled(tools));
    io.err(whyDown(packs));
    io.err(await tellUnnamedPacks(host.workspace));
    return 0;
  },
};

/** Nothing of it can be listed. */
const isMissing = ({ status, tools }: PackState): boolean => tools === 0 && status === 'unhealthy';

function stateOf({ contract, enabled, quarantined, health }: ToolListing): string {
  if (quarantined) return 'quarantined';
  if (!enabled) return 'disabled';
  if (health?.status === 'unhealthy') return 'unhealthy';
  return contract.mutates ? 'writes' : 'reads';
}
