// Owns: whether the audit still is what was seen of it before: held against the head that is kept outside of the workspace.
// Refuses: to say that the chain is whole; `audit.verify` does. To decide what a person has to.
import { fail } from '../contract/errors.ts';
import type { KeptHead } from '../contract/operation-handles.ts';
import type { AuditHead, AuditStore } from '../contract/store.ts';
import { type AuditHeads, type AuditRecord, openAuditHeads } from '../stores/machine/audit-heads.ts';

export const isBroken = ({ state }: KeptHead): boolean => state === 'replaced' || state === 'rewritten';

/** Reads only. */
export async function checkKeptHead(workspace: string, audit: AuditStore): Promise<KeptHead> {
  const heads = openAuditHeads({ env: process.env, workspace });
  const { file } = heads;
  if (file === undefined) return { state: 'none', message: `No head of this audit is kept: ${NO_FOLDER}` };
  return { ...(await compare(heads, audit)), file };
}

/** What a person decided: the audit as it is now counts from here on. The chain should verify. */
export async function acceptHead(workspace: string, audit: AuditStore): Promise<void> {
  const heads = openAuditHeads({ env: process.env, workspace });
  if (heads.file === undefined) throw fail('usage', `Cannot keep the head: ${NO_FOLDER}`);
  const chain = await hashOf(audit, 1);
  heads.accept(chain === undefined ? undefined : { chain, head: await audit.head() });
}

const NO_FOLDER =
  'there is no folder for it outside of the workspace; set HOME, or XDG_CONFIG_HOME to such a folder';

const ACCEPT =
  'If you know why, "haft audit verify --accept" makes the audit as it is now the one that counts';

async function compare(heads: AuditHeads, audit: AuditStore): Promise<Omit<KeptHead, 'file'>> {
  const [known, head, chain] = [heads.read(), await audit.head(), await hashOf(audit, 1)];
  if (!known) return chain === undefined ? NONE_YET : compareMoved(heads.movedFrom(chain), audit, head);
  const kept = known.head;
  if (known.chain !== chain) {
    const fact =
      head.count === 0 ? 'it has no rows' : `its first row is another (there are ${head.count} now)`;
    const message = `This is not the audit that was here: ${fact}, and the kept head is row ${shown(kept)}. The state was emptied, removed or replaced. ${ACCEPT}`;
    return { state: 'replaced', kept, message };
  }
  const { lost } = known;
  if ((await hashOf(audit, kept.count)) === kept.hash) {
    // What is noted as lost is said below.
    const elsewhere = heads.movedFrom(chain).filter(({ head: { count } }) => count > (lost?.count ?? 0));
    const contradiction = await contradictionOf(elsewhere, audit, head);
    if (contradiction) return contradiction;
    if (!lost) return { state: 'holds', kept, message: `It holds the kept head, row ${shown(kept)}` };
    const message = behind(
      lost,
      `rows up to ${lost.count} were seen once, and it went on without some of them`,
    );
    return { state: 'behind', kept: lost, message, noted: true };
  }
  if (kept.count > head.count) return { state: 'behind', kept, message: cutShort(kept, head) };
  return { state: 'rewritten', kept, message: rewritten(kept) };
}

const NONE_YET = {
  state: 'none',
  message: 'No head of this audit is kept outside of the workspace yet: the next call leaves one',
} as const;

async function compareMoved(
  records: readonly AuditRecord[],
  audit: AuditStore,
  head: AuditHead,
): Promise<Omit<KeptHead, 'file'>> {
  const contradiction = await contradictionOf(records, audit, head);
  if (contradiction) return contradiction;
  const [first] = records;
  if (!first) return NONE_YET;
  const { lost } = first;
  if (lost) {
    const fact = `rows up to ${lost.count} were seen in ${first.folder}, and it went on without some of them`;
    return { state: 'behind', kept: lost, message: behind(lost, fact), noted: true };
  }
  const message = `The workspace was moved here from ${first.folder}: the audit holds the head that was kept there, row ${shown(first.head)}`;
  return { state: 'moved', kept: first.head, message };
}

/** Where one of the heads that were kept for other folders is not in this audit: rows that differ weigh more than rows that are missing. */
async function contradictionOf(
  records: readonly AuditRecord[],
  audit: AuditStore,
  head: AuditHead,
): Promise<Omit<KeptHead, 'file'> | undefined> {
  let missing: Omit<KeptHead, 'file'> | undefined;
  for (const { folder, head: kept } of records) {
    if ((await hashOf(audit, kept.count)) === kept.hash) continue;
    const where = `(kept for ${folder}, where the workspace was)`;
    if (kept.count <= head.count) return { state: 'rewritten', kept, message: `${rewritten(kept)} ${where}` };
    missing ??= { state: 'behind', kept, message: `${cutShort(kept, head)} ${where}` };
  }
  return missing;
}

const rewritten = (kept: AuditHead): string =>
  `Row ${kept.count} is not the one that was kept (${shown(kept)}): the chain was rewritten. ${ACCEPT}`;

const cutShort = (kept: AuditHead, head: AuditHead): string =>
  behind(kept, `it ends with row ${head.count}, and ${seen(kept.count - head.count)}`);

const behind = (kept: AuditHead, fact: string): string =>
  `The audit is not as far as it was: ${fact} (kept head: row ${shown(kept)}). A backup was put back, or the end was cut off: the two look the same. ${ACCEPT}`;

const shown = ({ count, hash }: AuditHead): string => `${count}:${hash}`;

const seen = (count: number): string =>
  count === 1 ? '1 row after that was seen before' : `${count} rows after that were seen before`;

async function hashOf(audit: AuditStore, seq: number): Promise<string | undefined> {
  const [row] = await audit.rows({ afterSeq: seq - 1, limit: 1 });
  return row?.seq === seq ? row.hash : undefined;
}
