// Owns: `haft runs show`: one run with its attempts, what went in, what came out, and what was seen from inside.
// Refuses: to execute or change anything.
import { shownSize } from '../../../base/shown-size.ts';
import type { EngineJob } from '../../../contract/backend.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { AttemptRecord, RunRecord } from '../../../contract/run.ts';
import { table } from '../../../contract/terminal-text.ts';
import type { Command } from '../command.ts';
import { findRun } from '../find-run.ts';
import { attemptToWire, endOf, runToWire, shownJson } from '../run-view.ts';

export const command: Command = {
  summary: 'Show one run: its attempts, inputs, outputs and what was observed',
  usage: 'RUN',
  description: 'RUN is an id, or as much of its beginning as belongs to no other run.',
  examples: ['haft runs show run_3fa1', 'haft runs show 3fa1 --json'],
  positionals: [1, 1],
  reads: true,
  async run({ runtime, positionals, io, json }) {
    const { runs } = await runtime();
    const { run, attempts, job } = await runs.look(await findRun(runs, positionals[0]!));
    if (json)
      io.out(`${JSON.stringify({ ...runToWire(run), job, attempts: attempts.map(attemptToWire) })}\n`);
    else {
      const parts = [
        head(run),
        jobRows(job),
        inputs(run),
        attemptRows(attempts),
        outputs(attempts),
        observed(attempts),
      ];
      io.out(parts.filter((part) => part !== '').join('\n'));
    }
    return 0;
  },
};

function head({ runId, tool, contract, state, createdTs, updatedTs, plan, result }: RunRecord): string {
  return table([
    ['run', runId],
    ['tool', `${tool} (contract ${contract})`],
    ['status', state],
    ['created', new Date(createdTs).toISOString()],
    ['changed', new Date(updatedTs).toISOString()],
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

function attemptRows(attempts: readonly AttemptRecord[]): string {
  const rows = attempts.map((attempt) => [
    String(attempt.number),
    attempt.purpose,
    attempt.backend,
    new Date(attempt.createdTs).toISOString(),
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
