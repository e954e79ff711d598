// Owns: `haft policy replay`: what another policy would have decided about calls that were made.
// Refuses: to make a call.
import { formatDiagnostic } from '../../../contract/diagnostic.ts';
import { describeEffect } from '../../../contract/effect.ts';
import { ERRORS, fail } from '../../../contract/errors.ts';
import { createPolicyEngine } from '../../../policy/create-policy-engine.ts';
import { replayDecisions } from '../../../policy/suggest.ts';
import { loadPolicy } from '../../../preset/load-policy.ts';
import type { Command } from '../command.ts';
import { table } from '../output.ts';
import { wholeNumber } from '../whole-number.ts';

export const command: Command = {
  summary: 'Decide the last audited calls again under another policy file',
  usage: 'FILE',
  description: 'Lists the calls that would be decided otherwise; the exit code is 1 if there are any.',
  options: {
    last: { type: 'string', value: 'N', help: 'how many of the newest audit rows (default: 1000)' },
  },
  examples: ['haft policy replay proposed.yaml', 'haft policy replay proposed.yaml --last 10000 --json'],
  positionals: [1, 1],
  reads: true,
  async run({ runtime, positionals, workspace, io, json, flags }) {
    const { value, diagnostics } = await loadPolicy(workspace, positionals[0]!);
    if (!value)
      throw fail('policy.invalid', `Cannot replay: ${diagnostics.map(formatDiagnostic).join('\n')}`);
    const rows = await (await runtime()).audit.rows({ last: wholeNumber('last', flags.last, 1000) });
    const changes = await replayDecisions(rows, createPolicyEngine({ loaded: value }));
    if (json) {
      const shown = changes.map(({ row, before, after }) => ({
        seq: row.seq,
        call_id: row.callId,
        tool: row.tool,
        before,
        after,
      }));
      io.out(`${JSON.stringify({ looked_at: rows.length, changes: shown })}\n`);
    } else if (changes.length === 0) io.out(`Nothing would change for the last ${rows.length} rows.\n`);
    else {
      const lines = changes.map(({ row, before, after }) => [
        String(row.seq),
        row.tool,
        `${before} → ${after.verdict}`,
        after.rule,
        row.effects.map(describeEffect).join('; '),
      ]);
      io.out(table(lines, ['SEQ', 'TOOL', 'DECISION', 'RULE', 'EFFECTS']));
    }
    return changes.length === 0 ? 0 : ERRORS['policy.differs'].exit;
  },
};
