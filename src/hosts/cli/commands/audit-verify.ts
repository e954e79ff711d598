// Owns: `haft audit verify`: is every row what it was when it was written?
// Refuses: to mend anything.
import { ERRORS, fail } from '../../../contract/errors.ts';
import type { AuditHead } from '../../../contract/store.ts';
import type { Command } from '../command.ts';
import { readFileArgument } from '../read-argument.ts';

export const command: Command = {
  summary: 'Recompute the hash chain of the audit',
  usage: '[--head COUNT:HASH] [--checkpoint FILE] [--accept]',
  description:
    'Names the first bad row. Then it holds the audit against the head that Haft keeps for this workspace in ~/.config/haft/heads: an audit that was emptied, replaced or rewritten fails; one that is not as far as it was (a backup was put back, or the tail cut off), or that was moved, is a warning. With a head that you kept elsewhere, a cut tail fails, too.',
  options: {
    head: { type: 'string', value: 'COUNT:HASH', help: 'what "haft audit head" printed earlier' },
    accept: {
      type: 'boolean',
      help: 'take the audit as it is now for the one that counts, after you emptied, restored or replaced it',
    },
    checkpoint: { type: 'string', value: 'FILE', help: 'what "haft audit checkpoint" printed earlier' },
  },
  examples: ['haft audit verify', 'haft audit verify --head "$(cat ~/audit-head.txt)"'],
  positionals: [0, 0],
  reads: true,
  async run({ runtime, workspace, io, json, flags }) {
    const given = flags.head === undefined ? undefined : parseHead(flags.head as string);
    const verdict = await (await runtime()).audit.verify(given);
    if (verdict.ok && flags.checkpoint !== undefined) {
      const { checkAudit } = await import('../../../preset/prove.ts');
      const note = Buffer.from(await readFileArgument(flags.checkpoint as string, 64 * 1024)).toString(
        'utf8',
      );
      await checkAudit(await runtime(), note, workspace);
    }
    if (!verdict.ok) {
      if (json) io.out(`${JSON.stringify(verdict)}\n`);
      else io.err(brokenLine(`row ${verdict.seq}: ${verdict.problem}`));
      return ERRORS['audit.broken'].exit;
    }
    const { acceptHead, checkKeptHead, isBroken } = await import('../../../preset/kept-head.ts');
    const { audit } = await runtime();
    if (flags.accept) {
      // Before, so that the head that is kept holds it.
      const { localPerson, recordManagement } = await import('../../../preset/record-management.ts');
      const act = { action: 'haft audit verify --accept', by: localPerson(), facts: { ...verdict.head } };
      await recordManagement(workspace, act, audit);
      await acceptHead(workspace, audit);
    }
    const kept = await checkKeptHead(workspace, audit);
    const { head } = verdict;
    const broken = isBroken(kept);
    if (json)
      io.out(
        `${JSON.stringify(broken ? { ok: false, seq: kept.kept?.count, problem: kept.message, kept } : { ...verdict, kept })}\n`,
      );
    else if (broken) io.err(brokenLine(`${kept.message}. What was seen is kept in ${kept.file}`));
    else {
      io.out(`The audit verifies: ${head.count} rows, head ${head.hash}\n`);
      if (kept.state === 'none') io.out(`${kept.message}\n`);
      else if (kept.state !== 'holds') io.err(`haft: ${kept.message}\n`);
    }
    return broken ? ERRORS['audit.broken'].exit : 0;
  },
};

const brokenLine = (problem: string): string =>
  `haft: The audit does not verify: ${problem} [E_INTERNAL audit.broken]\n`;

function parseHead(text: string): AuditHead {
  const match = /^(\d+):([0-9a-f]{64})$/.exec(text.trim());
  if (!match) throw fail('usage', 'Cannot verify: --head takes COUNT:HASH as "haft audit head" prints it');
  return { count: Number(match[1]), hash: match[2]! };
}
