// Owns: reading the audit: rows as people and programs read them, its head, all of it as JSON lines; and whether the chain is whole, also against what was kept or signed outside.
// Refuses: arguments of calls: the audit never had them; and to mend a chain.
import { describeEffect } from '../contract/effect.ts';
import { ERRORS, fail } from '../contract/errors.ts';
import { checkWord, defineOperation, type Operation, type Reader } from '../contract/operation.ts';
import type { KeptHead } from '../contract/operation-handles.ts';
import { MANAGEMENT } from '../contract/policy.ts';
import { auditRowToWire } from '../contract/spelling.ts';
import type { AuditHead, AuditQuery, AuditRow, AuditVerdict } from '../contract/store.ts';
import { COUNT, count, document, flag, list as listOf, local, TEXT, text, YES } from './schemas.ts';

const OUTCOMES = ['pending', 'ok', 'denied', 'failed', 'cancelled', 'timeout', 'lost'] as const;

interface Filters {
  readonly tool?: string;
  readonly session?: string;
  readonly call?: string;
  readonly outcome?: AuditRow['outcome'];
  readonly last: number;
}

const FILTERS: Operation['args'] = {
  tool: text('TOOL', 'only calls of this tool, or one such change: "haft tools add"'),
  session: text('ID', 'only calls of this session'),
  call: text('ID', 'only this call'),
  outcome: {
    type: 'string',
    placeholder: 'WORD',
    enum: OUTCOMES,
    description: `only rows with this outcome: ${OUTCOMES.join(', ')}`,
  },
  last: count(20, 'how many rows, newest last (default: 20)'),
};

export const auditList = defineOperation<Filters, readonly AuditRow[]>({
  id: 'audit.list',
  summary: 'List the newest audit rows',
  description:
    'Calls, and what people changed outside of them (haft tools add, haft trust, …), with who did it.',
  examples: ['haft audit list', 'haft audit list --outcome denied --last 100 --json'],
  args: FILTERS,
  result: document({ rows: listOf('Rows of the audit, oldest first.') }),
  who: 'person',
  reads: true,
  run: async (args, { runtime }) => (await runtime()).audit.rows(queryOf(args)),
  json: (rows) => ({ rows: rows.map(auditRowToWire) }),
  text(rows, reader) {
    const { tool, session, call, outcome } = reader.args;
    const isFiltered = [tool, session, call, outcome].some((one) => one !== undefined);
    if (rows.length > 0)
      reader.table(
        shownRows(rows, reader).map((row) => cells(row, reader)),
        headerOf(reader),
      );
    else reader.out(isFiltered ? 'No row matches.\n' : 'No calls yet.\n');
  },
});

export const auditTail = defineOperation<Filters, AsyncIterable<AuditRow>>({
  id: 'audit.tail',
  summary: 'Print audit rows as they are written, until Ctrl-C',
  examples: ['haft audit tail', 'haft audit tail --tool file_write --json'],
  args: FILTERS,
  result: { type: 'object', description: 'A row of the audit.' },
  answers: 'lines',
  who: 'person',
  reads: true,
  async run(args, { runtime, signal }) {
    const { last, ...filter } = queryOf(args);
    const { audit } = await runtime();
    return (async function* () {
      // The head first: a row that comes between the two is then in the rows.
      let seq = (await audit.head()).count;
      let rows = await audit.rows({ ...filter, ...(last === undefined ? {} : { last }) });
      while (!signal.aborted) {
        for (const row of rows) {
          yield row;
          seq = Math.max(seq, row.seq);
        }
        await pause(250, signal);
        rows = await audit.rows({ ...filter, afterSeq: seq });
      }
    })();
  },
  json: auditRowToWire,
  text: (row, reader) => reader.table([cells(row, reader)]),
});

export const auditHead = defineOperation<object, AuditHead>({
  id: 'audit.head',
  summary: 'Print the number of audit rows and the hash of the last',
  description:
    'Keep it outside of the workspace: "haft audit verify --head COUNT:HASH" then shows a cut tail or a rewritten chain.',
  examples: ['haft audit head', 'haft audit head > ~/audit-head.txt'],
  args: {},
  result: document({ count: { type: 'integer' }, hash: { type: 'string' } }),
  who: 'person',
  reads: true,
  run: async (_, { runtime }) => (await runtime()).audit.head(),
  text: ({ count, hash }, { out }) => out(`${count}:${hash}\n`),
});

const PAGE = 1000;

export const auditExport = defineOperation<object, AsyncIterable<AuditRow>>({
  id: 'audit.export',
  summary: 'Write every audit row as one line of JSON',
  examples: ['haft audit export > audit.jsonl'],
  args: {},
  result: { type: 'object', description: 'A row of the audit.' },
  answers: 'lines',
  who: 'person',
  reads: true,
  async run(_, { runtime, signal }) {
    const { audit } = await runtime();
    return (async function* () {
      for (let afterSeq = 0; !signal.aborted; ) {
        const rows = await audit.rows({ afterSeq, limit: PAGE });
        yield* rows;
        if (rows.length < PAGE) return;
        afterSeq = rows.at(-1)!.seq;
      }
    })();
  },
  json: auditRowToWire,
});

type Look = Pick<Reader<unknown>, 'time' | 'brief'>;
type Column = readonly [name: string, cell: (row: AuditRow, look: Look) => string];

/** A screen has no room for the last ones, unless it is asked for all. */
const BRIEF: readonly Column[] = [
  ['SEQ', ({ seq }) => String(seq)],
  ['WHEN', ({ startTs }, { time }) => time(startTs)],
  ['TOOL', ({ tool }) => tool],
  ['TOUCHED', touched],
  ['OUTCOME', ({ errors: [error], outcome }) => (error ? `${outcome} (${error.reason})` : outcome)],
  ['CALL', ({ callId }) => callId],
];
const COLUMNS: readonly Column[] = [
  ...BRIEF,
  ['PHASE', ({ phase }) => phase],
  ['RULE', ({ decision }) => decision.rule],
  ['BY', ({ attribution }) => (typeof attribution?.by === 'string' ? attribution.by : '')],
];

const columnsOf = ({ brief }: Look): readonly Column[] => (brief ? BRIEF : COLUMNS);
const headerOf = (look: Look): string[] => columnsOf(look).map(([name]) => name);

const cells = (row: AuditRow, look: Look): string[] => columnsOf(look).map(([, cell]) => cell(row, look));

/** On a screen a call is one line: what it was about to do says nothing beside how it ended. */
function shownRows(rows: readonly AuditRow[], { brief }: Look): readonly AuditRow[] {
  if (!brief) return rows;
  const ended = new Set(rows.flatMap(({ phase, callId }) => (phase === 'outcome' ? [callId] : [])));
  return rows.filter(({ phase, callId }) => phase === 'outcome' || !ended.has(callId));
}

/** The paths, commands and hosts of a call; of what a person changed outside of calls, what that was. */
function touched({ decision, effects, facts }: AuditRow): string {
  if (decision.rule !== MANAGEMENT) return effects.map(describeEffect).join('; ');
  return Object.entries(facts ?? {})
    .map(([key, value]) => `${key}=${shortText(value)}`)
    .join(' ');
}

const shortText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
};

function queryOf({ tool, session, call, outcome, last }: Filters): AuditQuery {
  checkWord('list rows', 'outcome', outcome, OUTCOMES);
  return {
    last,
    ...(tool === undefined ? {} : { tool }),
    ...(session === undefined ? {} : { session }),
    ...(call === undefined ? {} : { callId: call }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });

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
  async run(args, { runtime, proofs, record, progress }) {
    const given = args.head === undefined ? undefined : parseHead(args.head);
    const { audit } = await runtime();
    progress({ message: `verifying ${(await audit.head()).count} rows` });
    const verdict = await audit.verify(given);
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
