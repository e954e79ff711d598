// Owns: `haft tools list`.
// Refuses: to hide a disabled tool: it is listed with the line that would grant it.
import type { ToolListing } from '../../../contract/runtime.ts';
import { toolStateToWire } from '../../../contract/spelling.ts';
import type { Command } from '../command.ts';
import { whyDisabled } from '../describe-tool.ts';
import { table } from '../output.ts';

export const command: Command = {
  summary: 'List the installed tools',
  usage: '',
  examples: ['haft tools list', 'haft tools list --json'],
  positionals: [0, 0],
  async run({ runtime, io, json }) {
    const tools = (await runtime()).tools();
    if (json) {
      const rows = tools.map((one) => {
        const { id, version, title, mutates } = one.contract;
        return { id, version, title, mutates, ...toolStateToWire(one) };
      });
      io.out(`${JSON.stringify({ tools: rows })}\n`);
      return 0;
    }
    const rows = tools.map((one) => [one.contract.id, stateOf(one), one.contract.title]);
    io.out(table(rows, ['TOOL', 'STATE', 'WHAT IT DOES']));
    io.err(whyDisabled(tools));
    return 0;
  },
};

function stateOf({ contract, enabled, quarantined, health }: ToolListing): string {
  if (quarantined) return 'quarantined';
  if (!enabled) return 'disabled';
  if (health?.status === 'unhealthy') return 'unhealthy';
  return contract.mutates ? 'writes' : 'reads';
}
