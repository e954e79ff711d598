// Owns: `haft policy explain`: which rule decides a call, and the line that would change it.
// Refuses: to make the call.
import { describeEffect } from '../../../contract/effect.ts';
import { describeAdmit } from '../../../contract/terminal-text.ts';
import type { Command } from '../command.ts';
import { BACKEND_FLAG, PLACE_FLAG, runPlace } from '../run-place.ts';
import { parseArgs } from './call.ts';

export const command: Command = {
  summary: 'Say which rule decides a call, without making it',
  usage: 'TOOL [JSON]',
  options: { ...BACKEND_FLAG, ...PLACE_FLAG },
  description:
    'Of a tool of a toolpack the run is prepared, so that its image and where it may run are decided, too. Nothing is executed.',
  examples: [
    `haft policy explain file_read '{"path":"src/index.ts"}'`,
    `haft policy explain file_write '{"path":"haft.yaml","content":""}'`,
  ],
  positionals: [1, 2],
  lenient: true,
  async run({ positionals, flags, runtime, io, json }) {
    const [tool, args = '{}'] = positionals as [string, string?];
    const explanation = await (await runtime()).policy.explain(
      { tool, args: parseArgs(args) },
      runPlace(flags),
    );
    if (json) {
      io.out(`${JSON.stringify(explanation)}\n`);
      return 0;
    }
    const { effects, decision, all, place } = explanation;
    io.out(
      `${tool} would ${effects.length === 0 ? 'touch nothing' : effects.map(describeEffect).join(', ')}\n`,
    );
    for (const one of all) {
      const place = one.line === undefined ? '' : ` (haft.yaml line ${one.line})`;
      io.out(
        `  ${one.verdict.padEnd(5)}  ${one.rule}${place}${one.effect ? `  ${describeEffect(one.effect)}` : ''}\n`,
      );
    }
    if (place) io.out(`${all.at(-1)?.message}\n`);
    io.out(`${decision.verdict}: ${decision.message}\n`);
    if (decision.verdict !== 'allow' && decision.admit) io.out(`${describeAdmit(decision.admit)}\n`);
    return 0;
  },
};
