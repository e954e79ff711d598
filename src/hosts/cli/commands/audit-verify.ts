// Owns: `haft audit verify`: is every row what it was when it was written?
// Refuses: to mend anything.
import { ERRORS, fail } from '../../../contract/errors.ts';
import type { AuditHead } from '../../../contract/store.ts';
import type { Command } from '../command.ts';
import { readFileArgument } from '../read-argument.ts';

export const command: Command = {
  summary: 'Recompute the hash chain of the audit',
  usage: '[--head COUNT:HASH] [--checkpoint FILE]',
  description:
    'Names the first bad row. With a head that was kept elsewhere, a cut tail or a rewritten chain shows, too.',
  options: {
    head: { type: 'string', value: 'COUNT:HASH', help: 'what "haft audit head" printed earlier' },
    checkpoint: { type: 'string', value: 'FILE', help: 'what "haft audit checkpoint" printed earlier' },
  },
  examples: ['haft audit verify', 'haft audit verify --head "$(cat ~/audit-head.txt)"'],
  positionals: [0, 0],
  async run({ runtime, workspace, io, json, flags }) {
    const kept = flags.head === undefined ? undefined : parseHead(flags.head as string);
    const verdict = await (await runtime()).audit.verify(kept);
    if (verdict.ok && flags.checkpoint !== undefined) {
      const { checkAudit } = await import('../../../preset/prove.ts');
      const note = Buffer.from(await readFileArgument(flags.checkpoint as string, 64 * 1024)).toString(
        'utf8',
      );
      await checkAudit(await runtime(), note, workspace);
    }
    if (json) io.out(`${JSON.stringify(verdict)}\n`);
    else if (verdict.ok)
      io.out(`The audit verifies: ${verdict.head.count} rows, head ${verdict.head.hash}\n`);
    else
      io.err(
        `haft: The audit does not verify: row ${verdict.seq}: ${verdict.problem} [E_INTERNAL audit.broken]\n`,
      );
    return verdict.ok ? 0 : ERRORS['audit.broken'].exit;
  },
};

function parseHead(text: string): AuditHead {
  const match = /^(\d+):([0-9a-f]{64})$/.exec(text.trim());
  if (!match) throw fail('usage', 'Cannot verify: --head takes COUNT:HASH as "haft audit head" prints it');
  return { count: Number(match[1]), hash: match[2]! };
}
