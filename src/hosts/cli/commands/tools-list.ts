// Owns: `haft tools list`.
// Refuses: to hide a disabled tool: it is listed with the line that would grant it.
import type { ToolListing } from '../../../contract/runtime.ts';
import type { Command } from '../command.ts';
import { describeAdmit, table } from '../output.ts';

export const command: Command = {
  summary: 'List the installed tools',
  usage: '',
  examples: ['haft tools list', 'haft tools list --json'],
  positionals: [0, 0],
  async run({ runtime, io, json }) {
    const tools = (await runtime()).tools();
    if (json) {
      const rows = tools.map(
        ({ contract: { id, version, title, mutates }, origin, enabled, admit, quarantined }) => ({
          id,
          version,
          title,
          mutates,
          origin,
          enabled,
          ...(admit ? { admit } : {}),
          ...(quarantined ? { quarantined } : {}),
        }),
      );
      io.out(`${JSON.stringify({ tools: rows })}\n`);
      return 0;
    }
    const rows = tools.map((one) => [one.contract.id, stateOf(one), one.contract.title]);
    io.out(table(rows, ['TOOL', 'STATE', 'WHAT IT DOES']));
    for (const { quarantined } of tools) if (quarantined) io.err(`${quarantined}\n`);
    for (const { contract, enabled, admit } of tools) {
      if (!enabled && admit) io.err(`${contract.id} is disabled\n${describeAdmit(admit)}\n`);
    }
    return 0;
  },
};

function stateOf({ contract, enabled, quarantined }: ToolListing): string {
  if (quarantined) return 'quarantined';
  if (!enabled) return 'disabled';
  return contract.mutates ? 'writes' : 'reads';
}
