// Owns: the operations that read the audit: rows as people and programs read them, its head, all of it.
// Refuses: arguments of calls: the audit never had them. To say that the chain is whole; audit-verify.ts does.
import { describeEffect } from '../contract/effect.ts';
import { checkWord, defineOperation, type Operation, type Reader } from '../contract/operation.ts';
import { MANAGEMENT } from '../contract/policy.ts';
import { auditRowToWire } from '../contract/spelling.ts';
import type { AuditHead, AuditQuery, AuditRow } from '../contract/store.ts';
import { count, document, list as listOf, text } from './schemas.ts';

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
