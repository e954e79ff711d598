// Owns: `haft audit list` and `haft audit tail`: rows as people read them.
// Refuses: arguments of calls: the audit never had them.
import { closest } from '../../../base/closest.ts';
import { fail } from '../../../contract/errors.ts';
import { MANAGEMENT } from '../../../contract/policy.ts';
import { auditRowToWire } from '../../../contract/spelling.ts';
import type { AuditEntry, AuditQuery, AuditRow } from '../../../contract/store.ts';
import { table } from '../../../contract/terminal-text.ts';
import type { Command, Invocation } from '../command.ts';
import { wholeNumber } from '../whole-number.ts';

const OUTCOMES: readonly AuditEntry['outcome'][] = [
  'pending',
  'ok',
  'denied',
  'failed',
  'cancelled',
  'timeout',
  'lost',
];

const FILTERS = {
  tool: {
    type: 'string',
    value: 'TOOL',
    help: 'only calls of this tool, or one such change: "haft tools add"',
  },
  session: { type: 'string', value: 'ID', help: 'only calls of this session' },
  call: { type: 'string', value: 'ID', help: 'only this call' },
  outcome: { type: 'string', value: 'WORD', help: `only rows with this outcome: ${OUTCOMES.join(', ')}` },
  last: { type: 'string', value: 'N', help: 'how many rows, newest last (default: 20)' },
} as const;

export const list: Command = {
  summary: 'List the newest audit rows',
  usage: '',
  description:
    'Calls, and what people changed outside of them (haft tools add, haft trust, …), with who did it.',
  options: FILTERS,
  examples: ['haft audit list', 'haft audit list --outcome denied --last 100 --json'],
  positionals: [0, 0],
  reads: true,
  async run(invocation) {
    const rows = await (await invocation.runtime()).audit.rows(queryOf(invocation));
    if (invocation.json) invocation.io.out(`${JSON.stringify({ rows: rows.map(auditRowToWire) })}\n`);
    else if (rows.length > 0) invocation.io.out(table(rows.map(cells), HEADER));
    else invocation.io.out(isFiltered(invocation) ? 'No row matches.\n' : 'No calls yet.\n');
    return 0;
  },
};

export const tail: Command = {
  summary: 'Print audit rows as they are written, until Ctrl-C',
  usage: '',
  options: FILTERS,
  examples: ['haft audit tail', 'haft audit tail --tool file_write --json'],
  positionals: [0, 0],
  reads: true,
  async run(invocation) {
    const { io, json } = invocation;
    const { audit } = await invocation.runtime();
    const { last, ...filter } = queryOf(invocation);
    // The head first: a row that comes between the two is then in the rows.
    let seq = (await audit.head()).count;
    let rows = await audit.rows({ ...filter, ...(last === undefined ? {} : { last }) });
    while (!io.signal.aborted) {
      for (const row of rows) {
        io.out(json ? `${JSON.stringify(auditRowToWire(row))}\n` : table([cells(row)]));
        seq = Math.max(seq, row.seq);
      }
      await pause(250, io.signal);
      rows = await audit.rows({ ...filter, afterSeq: seq });
    }
    return 0;
  },
};

const HEADER = ['SEQ', 'WHEN', 'TOOL', 'PHASE', 'OUTCOME', 'RULE', 'CALL', 'BY'];

const cells = (row: AuditRow): string[] => [
  String(row.seq),
  new Date(row.startTs).toISOString(),
  row.tool,
  row.phase,
  row.errors[0] ? `${row.outcome} (${row.errors[0].reason})` : row.outcome,
  row.decision.rule,
  row.callId,
  whoDid(row),
];

/** Of what a person changed outside of calls: who, and what. */
function whoDid({ decision, attribution, facts }: AuditRow): string {
  if (decision.rule !== MANAGEMENT) return '';
  const what = Object.entries(facts ?? {}).map(([key, value]) => `${key}=${shortText(value)}`);
  return [String(attribution?.by ?? ''), ...what].join(' ');
}

const shortText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
};

function queryOf({ flags }: Invocation): AuditQuery {
  const last = wholeNumber('last', flags.last, 20);
  const { tool, session, call, outcome } = flags as Readonly<Record<string, string | undefined>>;
  if (outcome !== undefined && !OUTCOMES.includes(outcome as AuditEntry['outcome'])) {
    const near = closest(outcome, OUTCOMES);
    const hint = near ? `did you mean "${near}"?` : `take one of ${OUTCOMES.join(', ')}`;
    throw fail('usage', `Cannot list rows: there is no outcome "${outcome.slice(0, 80)}"; ${hint}`);
  }
  return {
    last,
    ...(tool === undefined ? {} : { tool }),
    ...(session === undefined ? {} : { session }),
    ...(call === undefined ? {} : { callId: call }),
    ...(outcome === undefined ? {} : { outcome: outcome as AuditRow['outcome'] }),
  };
}

const isFiltered = ({ flags }: Invocation) =>
  [flags.tool, flags.session, flags.call, flags.outcome].some((one) => one !== undefined);

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
