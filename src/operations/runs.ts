// Owns: the operations that look at runs: the newest, one of them, why two are not the same.
// Refuses: to execute or change anything; runs-again.ts does.
import { shownSize } from '../base/shown-size.ts';
import type { EngineJob } from '../contract/backend.ts';
import { fail } from '../contract/errors.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import { type Argument, checkWord, defineOperation } from '../contract/operation.ts';
import { type AttemptRecord, RUN_TRANSITIONS, type RunRecord, type RunState } from '../contract/run.ts';
import type { RunQuery, RunRow } from '../contract/run-store.ts';
import type { FieldDifference, RunComparison, RunLook } from '../contract/runs.ts';
import { toWire } from '../contract/spelling.ts';
import { table } from '../contract/terminal-text.ts';
import { settleRuns } from './recover-runs.ts';
import { attemptToWire, endOf, findRun, runToWire, shortRun, shownJson } from './run-view.ts';
import { count, document, duration, list as listOf, optionalWord, TEXT, text, word } from './schemas.ts';

const STATES = Object.keys(RUN_TRANSITIONS) as readonly RunState[];
/** Those of which somebody should be looking after an attempt. */
const OPEN: readonly RunState[] = ['queued', 'running'];

interface ListArgs {
  readonly tool?: string;
  readonly status?: string;
  readonly backend?: string;
  readonly since?: string;
  readonly limit: number;
}

export const runsList = defineOperation<ListArgs, readonly RunRow[]>({
  id: 'runs.list',
  summary: 'List the newest runs',
  examples: [
    'haft runs list',
    'haft runs list --status failed --since 1d',
    'haft runs list --tool text_stats --backend slurm --limit 1000 --json',
  ],
  args: {
    tool: text('TOOL', 'only runs of this tool'),
    status: {
      type: 'string',
      placeholder: 'WORD',
      enum: STATES,
      description: `only runs that are ${STATES.join(', ')}`,
    },
    backend: text('NAME', 'only runs whose newest attempt is there'),
    since: text('WHEN', 'only runs since then: 12h, 30d, 8w, or a date'),
    limit: count(20, 'how many (default: 20)'),
  },
  result: document({ runs: listOf('The newest first.') }),
  who: 'person',
  reads: true,
  async run(args, { runtime, say, backendNames }) {
    const query = queryOf(args, await backendNames());
    const { runs } = await runtime();
    const found = await runs.list(query);
    const open = found.filter(({ state }) => OPEN.includes(state)).map(({ runId }) => runId);
    return (await settleRuns(runs, open, say)) ? runs.list(query) : found;
  },
  json: (runs) => ({ runs: runs.map(toWire) }),
  text(found, { out, tty, args, time, table: show }) {
    if (found.length === 0) return out(Object.keys(args).length > 1 ? 'No run matches.\n' : 'No runs yet.\n');
    const rows = found.map(({ runId, tool, state, attempts, backend, createdTs, message }) => [
      tty ? shortRun(runId) : runId,
      time(createdTs),
      tool,
      state,
      backend ?? '-',
      String(attempts),
      state === 'succeeded' ? '' : message,
    ]);
    show(rows, ['RUN', 'CREATED', 'TOOL', 'STATUS', 'BACKEND', 'ATTEMPTS', 'MESSAGE']);
  },
});

function queryOf({ tool, status, backend, since, limit }: ListArgs, backends: readonly string[]): RunQuery {
  checkWord('list runs', 'status', status, STATES);
  checkWord('list runs', 'backend', backend, backends);
  return {
    limit,
    ...(tool === undefined ? {} : { tool }),
    ...(status === undefined ? {} : { state: status as RunState }),
    ...(backend === undefined ? {} : { backend }),
    ...(since === undefined ? {} : { sinceTs: sinceOf(since) }),
  };
}

function sinceOf(given: string): number {
  if (/^\d+[hdw]$/.test(given)) return Date.now() - duration('since', given);
  const date = DATE.test(given) ? Date.parse(given) : Number.NaN;
  if (isDay(given.slice(0, 10)) && !Number.isNaN(date)) return date;
  throw fail(
    'usage',
    `Cannot use --since ${given.slice(0, 80)}: it takes hours, days or weeks, such as 12h, 30d or 8w, or a date that there is, such as 2026-01-31 or 2026-01-31T18:00:00Z`,
  );
}

const DATE = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?$/;

/** 30 February would be parsed as a day of March. */
function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

/** An id, or as much of its beginning as belongs to no other run. */
export const RUN: Argument = word('its id, or as much of its beginning as belongs to no other run');

export const runsShow = defineOperation<{ readonly run: string }, RunLook>({
  id: 'runs.show',
  summary: 'Show one run: its attempts, inputs, outputs and what was observed',
  description: 'RUN is an id, or as much of its beginning as belongs to no other run.',
  examples: ['haft runs show run_3fa1', 'haft runs show 3fa1 --json'],
  args: { run: RUN },
  result: document({ run_id: TEXT, tool: TEXT, state: TEXT, attempts: listOf('Oldest first.') }),
  who: 'person',
  reads: true,
  async run({ run }, { runtime }) {
    const { runs } = await runtime();
    return runs.look(await findRun(runs, run));
  },
  json: ({ run, attempts, job }) => ({ ...runToWire(run), job, attempts: attempts.map(attemptToWire) }),
  text({ run, attempts, job }, { out, time }) {
    const parts = [
      head(run, time),
      jobRows(job),
      inputs(run),
      attemptRows(attempts, time),
      outputs(attempts),
      observed(attempts),
    ];
    out(parts.filter((part) => part !== '').join('\n'));
  },
});

type Time = (ts: number) => string;

function head(
  { runId, tool, contract, state, createdTs, updatedTs, plan, result }: RunRecord,
  time: Time,
): string {
  return table([
    ['run', runId],
    ['tool', `${tool} (contract ${contract})`],
    ['status', state],
    ['created', time(createdTs)],
    ['changed', time(updatedTs)],
    ...(plan ? [['program', shownJson(plan.argv)]] : []),
    ...(plan?.image ? [['image', plan.image]] : []),
    ...(result ? [['result', resultOf(result.data)]] : []),
  ]);
}

/** A toolpack's own words, without the list of outputs that comes with them. */
function resultOf(data: unknown): string {
  const { result = data } = (typeof data === 'object' && data !== null ? data : {}) as JsonObject;
  return shownJson(result);
}

function jobRows(job: EngineJob | null): string {
  return job
    ? section(
        'job',
        Object.entries(job).map(([name, value]) => [name, String(value)]),
      )
    : '';
}

function inputs({ plan }: RunRecord): string {
  return section(
    'inputs',
    (plan?.inputs ?? []).map(({ role, dest, artifact }) => [role, `in/${dest}`, artifact]),
  );
}

function attemptRows(attempts: readonly AttemptRecord[], time: Time): string {
  const rows = attempts.map((attempt) => [
    String(attempt.number),
    attempt.purpose,
    attempt.backend,
    time(attempt.createdTs),
    endOf(attempt),
  ]);
  return section('attempts', rows);
}

function outputs(attempts: readonly AttemptRecord[]): string {
  const [newest] = attempts.filter(({ outputs: made }) => made.length > 0).slice(-1);
  if (!newest) return '';
  const rows = newest.outputs.map(({ role, label, type, size, artifact }) => [
    role,
    `${label} (${type})`,
    shownSize(size),
    artifact,
  ]);
  return section(`outputs of attempt ${newest.number}`, rows);
}

function observed(attempts: readonly AttemptRecord[]): string {
  const newest = attempts.findLast((attempt) => attempt.observed !== null);
  if (!newest?.observed) return '';
  const rows = Object.entries(newest.observed).map(([fact, value]) => [
    fact,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return section(`observed in attempt ${newest.number}`, rows);
}

const section = (title: string, rows: readonly (readonly string[])[]): string =>
  rows.length === 0 ? '' : `${title}\n${table(rows.map((row) => [` ${row[0] ?? ''}`, ...row.slice(1)]))}`;

export const runsExplain = defineOperation<{ readonly run: string; readonly other?: string }, RunComparison>({
  id: 'runs.explain',
  summary: 'Show why two runs differ',
  usage: 'A [B]',
  description:
    'Names every field that differs: a parameter, an input, the image, the code of the toolpack, its policy. Without B, A is held against the newest other run of the same tool.',
  examples: ['haft runs explain run_3fa1 run_77c0', 'haft runs explain 3fa1 --json'],
  args: { run: RUN, other: optionalWord('the other run') },
  result: document({ a: TEXT, b: { type: ['string', 'null'] }, differences: listOf('Field by field.') }),
  who: 'person',
  async run({ run, other }, { runtime }) {
    const { runs } = await runtime();
    const given = other === undefined ? [run] : [run, other];
    const [first, second] = await Promise.all(given.map((one) => findRun(runs, one)));
    const { a, b, differences } = await runs.explain(first!, second);
    return { a, b, differences };
  },
  text({ a, b, differences }, { out }) {
    if (b === null) return out(`There is no other run of the tool of ${shortRun(a)}.\n`);
    if (a === b || differences.length === 0) return out('They are the same run.\n');
    const many = differences.length === 1 ? 'one field' : `${differences.length} fields`;
    out(`${shortRun(a)} and ${shortRun(b)} differ in ${many}:\n`);
    out(differences.map(sentence).join(''));
  },
});

const sentence = ({ field, a, b }: FieldDifference): string =>
  `  ${field}: ${shown(a)} in the first, ${shown(b)} in the second\n`;

const LONGEST = 200;

function shown(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
