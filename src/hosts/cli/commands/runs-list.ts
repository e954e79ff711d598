// Owns: `haft runs list`: the newest runs, as people read them.
// Refuses: what is large of them; `haft runs show` has it.
import { closest } from '../../../base/closest.ts';
import { fail } from '../../../contract/errors.ts';
import { RUN_TRANSITIONS, type RunState } from '../../../contract/run.ts';
import type { RunQuery } from '../../../contract/run-store.ts';
import { table } from '../../../contract/terminal-text.ts';
import { settleRuns } from '../../../operations/recover-runs.ts';
import { BACKEND_NAMES } from '../../../preset/runs/choose-place.ts';
import type { Command, Invocation } from '../command.ts';
import { duration } from '../duration.ts';
import { shortRun } from '../find-run.ts';
import { rowToWire } from '../run-view.ts';
import { wholeNumber } from '../whole-number.ts';

const STATES = Object.keys(RUN_TRANSITIONS) as readonly RunState[];
/** Those of which somebody should be looking after an attempt. */
const OPEN: readonly RunState[] = ['queued', 'running'];

export const command: Command = {
  summary: 'List the newest runs',
  usage: '',
  options: {
    tool: { type: 'string', value: 'TOOL', help: 'only runs of this tool' },
    status: { type: 'string', value: 'WORD', help: `only runs that are ${STATES.join(', ')}` },
    backend: { type: 'string', value: 'NAME', help: 'only runs whose newest attempt is there' },
    since: { type: 'string', value: 'WHEN', help: 'only runs since then: 12h, 30d, 8w, or a date' },
    limit: { type: 'string', value: 'N', help: 'how many (default: 20)' },
  },
  examples: [
    'haft runs list',
    'haft runs list --status failed --since 1d',
    'haft runs list --tool text_stats --backend slurm --limit 1000 --json',
  ],
  positionals: [0, 0],
  reads: true,
  async run(invocation) {
    const { runtime, io, json } = invocation;
    const query = queryOf(invocation);
    const { runs } = await runtime();
    let found = await runs.list(query);
    const open = found.filter(({ state }) => OPEN.includes(state)).map(({ runId }) => runId);
    if (await settleRuns(runs, open, io.err)) found = await runs.list(query);
    if (json) io.out(`${JSON.stringify({ runs: found.map(rowToWire) })}\n`);
    else if (found.length === 0)
      io.out(Object.keys(query).length > 1 ? 'No run matches.\n' : 'No runs yet.\n');
    else {
      const rows = found.map(({ runId, tool, state, attempts, backend, createdTs, message }) => [
        io.tty ? shortRun(runId) : runId,
        new Date(createdTs).toISOString(),
        tool,
        state,
        backend ?? '-',
        String(attempts),
        state === 'succeeded' ? '' : cut(message, io.tty),
      ]);
      io.out(table(rows, ['RUN', 'CREATED', 'TOOL', 'STATUS', 'BACKEND', 'ATTEMPTS', 'MESSAGE']));
    }
    return 0;
  },
};

function queryOf({ flags }: Invocation): RunQuery {
  const { tool, status, backend, since } = flags as Readonly<Record<string, string | undefined>>;
  checkWord('status', status, STATES);
  checkWord('backend', backend, BACKEND_NAMES);
  return {
    limit: wholeNumber('limit', flags.limit, 20),
    ...(tool === undefined ? {} : { tool }),
    ...(status === undefined ? {} : { state: status as RunState }),
    ...(backend === undefined ? {} : { backend }),
    ...(since === undefined ? {} : { sinceTs: sinceOf(since) }),
  };
}

function checkWord(what: string, given: string | undefined, among: readonly string[]): void {
  if (given === undefined || among.includes(given)) return;
  const near = closest(given, among);
  const hint = near ? `did you mean "${near}"?` : `take one of ${among.join(', ')}`;
  throw fail('usage', `Cannot list runs: there is no ${what} "${given.slice(0, 80)}"; ${hint}`);
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

const WIDEST = 60;
const cut = (text: string, isCut: boolean): string =>
  isCut && text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
