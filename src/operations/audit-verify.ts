// Owns: `audit.verify` and `audit.checkpoint`: is every row what it was when it was written, and a signed word for that.
// Refuses: to mend anything.
import { ERRORS, fail } from '../contract/errors.ts';
import { defineOperation } from '../contract/operation.ts';
import type { KeptHead } from '../contract/operation-handles.ts';
import type { AuditHead, AuditVerdict } from '../contract/store.ts';
import { COUNT, document, flag, local, TEXT, text, YES } from './schemas.ts';

interface VerifyArgs {
  readonly head?: string;
  readonly accept?: boolean;
  /** On the command line the name of a file that holds it. */
  readonly checkpoint?: string;
}

type Verified = { readonly verdict: AuditVerdict; readonly kept?: KeptHead };

const isBroken = ({ state }: KeptHead): boolean => state === 'replaced' || state === 'rewritten';
const isBad = ({ verdict, kept }: Verified): boolean => !verdict.ok || (kept !== undefined && isBroken(kept));

const LARGEST_NOTE = 64 * 1024;

export const auditVerify = defineOperation<VerifyArgs, Verified>({
  id: 'audit.verify',
  summary: 'Recompute the hash chain of the audit',
  usage: '[--head COUNT:HASH] [--checkpoint FILE] [--accept]',
  description:
    'Names the first bad row. Then it holds the audit against the head that Haft keeps for this workspace in ~/.config/haft/heads: an audit that was emptied, replaced or rewritten fails; one that is not as far as it was (a backup was put back, or the tail cut off), or that was moved, is a warning. With a head that you kept elsewhere, a cut tail fails, too.',
  examples: ['haft audit verify', 'haft audit verify --head "$(cat ~/audit-head.txt)"'],
  args: {
    head: text('COUNT:HASH', 'what "haft audit head" printed earlier'),
    accept: flag(
      'take the audit as it is now for the one that counts, after you emptied, restored or replaced it',
    ),
    checkpoint: text('FILE', 'what "haft audit checkpoint" printed earlier'),
  },
  result: document(
    { ok: YES },
    { head: { type: 'object' }, kept: { type: 'object' }, seq: COUNT, problem: TEXT },
  ),
  who: 'person',
  changes: true,
  reads: true,
  async atTerminal(args, terminal) {
    if (args.checkpoint === undefined) return args;
    return { ...args, checkpoint: await terminal.readText(args.checkpoint, LARGEST_NOTE) };
  },
  async run(args, { runtime, proofs, record }) {
    const given = args.head === undefined ? undefined : parseHead(args.head);
    const verdict = await (await runtime()).audit.verify(given);
    if (!verdict.ok) return { verdict };
    if (args.checkpoint !== undefined) await proofs.check(args.checkpoint);
    if (args.accept) {
      // Before, so that the head that is kept holds it.
      await record('haft audit verify --accept', { ...verdict.head });
      await proofs.acceptHead();
    }
    return { verdict, kept: await proofs.keptHead() };
  },
  json({ verdict, kept }) {
    if (!kept) return verdict;
    return isBroken(kept)
      ? { ok: false, seq: kept.kept?.count, problem: kept.message, kept }
      : { ...verdict, kept };
  },
  text({ verdict, kept }, { out, err }) {
    if (!verdict.ok) return err(brokenLine(`row ${verdict.seq}: ${verdict.problem}`));
    if (!kept) return;
    if (isBroken(kept)) return err(brokenLine(`${kept.message}. What was seen is kept in ${kept.file}`));
    out(`The audit verifies: ${verdict.head.count} rows, head ${verdict.head.hash}\n`);
    if (kept.state === 'none') out(`${kept.message}\n`);
    else if (kept.state !== 'holds') err(`haft: ${kept.message}\n`);
  },
  exit: (verified) => (isBad(verified) ? ERRORS['audit.broken'].exit : 0),
});

export const auditCheckpoint = defineOperation<
  { readonly key?: boolean },
  { readonly size: number; readonly checkpoint: string; readonly key: string }
>({
  id: 'audit.checkpoint',
  summary: 'Print a signed checkpoint of the audit',
  usage: '[--key]',
  description:
    'A signed note: how many rows, and the Merkle root over them. Keep it outside of the workspace: "haft audit verify --checkpoint FILE" then shows a cut tail or a rewritten past. The key that signs is derived from the key of this host, which no workspace holds.',
  examples: ['haft audit checkpoint > ~/audit.checkpoint', 'haft audit checkpoint --key > host.pub'],
  args: { key: local(flag('print the public key instead, for those who check bundles and checkpoints')) },
  result: document({ size: COUNT, checkpoint: TEXT, key: TEXT }),
  who: 'person',
  reads: true,
  async run(_, { proofs }) {
    const { size, checkpoint, key } = await proofs.sign();
    return { size, checkpoint, key };
  },
  text: ({ checkpoint, key }, { out, args }) => out(args.key ? `${key}\n` : checkpoint),
});

const brokenLine = (problem: string): string =>
  `haft: The audit does not verify: ${problem} [E_INTERNAL audit.broken]\n`;

function parseHead(text: string): AuditHead {
  const match = /^(\d+):([0-9a-f]{64})$/.exec(text.trim());
  if (!match) throw fail('usage', 'Cannot verify: --head takes COUNT:HASH as "haft audit head" prints it');
  return { count: Number(match[1]), hash: match[2]! };
}
