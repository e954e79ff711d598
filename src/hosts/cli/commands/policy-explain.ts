// Owns: `haft policy explain`: which rule decides a call, and the line that would change it.
// Refuses: to make the call.
import { describeEffect } from '../../../contract/effect.ts';
import { describeAdmit } from '../../../contract/terminal-text.ts';
import type { Command } from '../command.ts';
import { parseArgs } from './call.ts';

export const command: Command = {
  summary: 'Say which rule decides a call, without making it',
  usage: 'TOOL [JSON]',
  description:
    'Of a tool of a toolpack the run is prepared, so that its image and where it may run are decided, too. Nothing is executed.',
  examples: [
    `haft policy explain file_read '{"path":"src/index.ts"}'`,
    `haft policy explain file_write '{"path":"haft.yaml","content":""}'`,
  ],
  positionals: [1, 2],
  lenient: true,
  async run({ positionals, runtime, io, json }) {
    const [tool, args = '{}'] = positionals as [string, string?];
    const explanation = await (await runtime()).policy.explain({ tool, args: parseArgs(args) });
    if (json) {
      io.out(`${JSON.stringify(explanation)}\n`);
      return 0;
    }
    const { effects, decision, all } = explanation;
    io.out(
      `${tool} would ${effects.length === 0 ? 'touch nothing' : effects.map(describeEffect).join(', ')}\n`,
    );
    for (const one of all) {
      const place = one.line === undefined ? '' : ` (haft.yaml line ${one.line})`;
      io.out(
        `  ${one.verdict.padEnd(5)}  ${one.rule}${place}${one.effect ? `  ${describeEffect(one.effect)}` : ''}\n`,
      );
    }
    io.out(`${decision.verdict}: ${decision.message}\n`);
    if (decision.verdict !== 'allow' && decision.admit) io.out(`${describeAdmit(decision.admit)}\n`);
    return 0;
  },
};
