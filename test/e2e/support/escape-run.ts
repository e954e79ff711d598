// Owns: a process that tries every escape case, one after the other, and says of each how it went.
// Refuses: to judge alone by answers: what is to be seen outside counts, and what the audit has.
// usage: escape-run.ts [network | plain] [PART OF A NAME]
import type { AuditRow } from '../../../src/contract/store.ts';
import type { CallResponse } from '../../../src/index.ts';
import { type Arena, makeArena } from './escape/arena.ts';
import type { EscapeCase, Facts, Sight, Step } from './escape/case.ts';
import { linesOf, watchArena } from './escape/sights.ts';
import { ESCAPE_CASES } from './escape-cases.ts';
import { inTime } from './in-time.ts';

/** One line of output. */
export interface CaseReport {
  readonly category: string;
  readonly name: string;
  readonly sight: Sight;
  /** Refused before anything ran, in every call that attacks; or run in the sandbox. */
  readonly ended: 'refused' | 'contained';
  /** What was seen of a success, and what is wrong with the answers and their rows. */
  readonly problems: readonly string[];
  readonly ms: number;
}

async function main(network: boolean, part: string): Promise<void> {
  const arena = await makeArena(network);
  try {
    for (const one of ESCAPE_CASES) {
      if (one.network && !network) continue;
      if (!`${one.category} ${one.name}`.includes(part)) continue;
      process.stdout.write(`${JSON.stringify(await attempt(arena, one))}\n`);
    }
    const verdict = await arena.runtime.audit.verify();
    if (!verdict.ok) throw new Error(`the audit does not verify: ${JSON.stringify(verdict)}`);
  } finally {
    await arena.close();
  }
}

async function attempt(arena: Arena, one: EscapeCase): Promise<CaseReport> {
  arena.arm();
  const watch = watchArena(arena);
  const started = performance.now();
  const responses = await inTime(
    one.run ? one.run(arena) : inTurn(arena, one.steps),
    `${one.category}: ${one.name}`,
    90_000,
  );
  const ms = Math.round(performance.now() - started);
  const seen = Object.entries(watch.look(responses)).map(
    ([sight, what]) => `it succeeded (${sight}): ${what}`,
  );
  const wrong: string[] = [];
  for (const [at, step] of one.steps.entries())
    wrong.push(...(await problemsOf(arena, step, responses[at]!)));
  // What an attack broke must not be seen again in the next one.
  if (seen.length > 0) arena.arm(true);
  const ran = one.steps.some(({ ends }) => ends === 'contained');
  return {
    category: one.category,
    name: one.name,
    sight: one.sight,
    ended: ran ? 'contained' : 'refused',
    problems: [...seen, ...wrong],
    ms,
  };
}

async function inTurn(arena: Arena, steps: readonly Step[]): Promise<CallResponse[]> {
  const responses: CallResponse[] = [];
  for (const step of steps) responses.push(await arena.call(step));
  return responses;
}

async function problemsOf(arena: Arena, step: Step, response: CallResponse): Promise<string[]> {
  const rows = await arena.runtime.audit.rows({ callId: response.callId, limit: 10 });
  const row = rows.find(({ phase }) => phase === 'outcome');
  if (!row) return ['its call has no outcome in the audit'];
  return step.ends === 'refused'
    ? refusalProblems(step, response, row)
    : runProblems(arena, step, response, row);
}

/** Refused: the row says why, and nothing was about to run. */
function refusalProblems(step: Step, response: CallResponse, row: AuditRow): string[] {
  const [error] = response.errors;
  if (!error) return [`it was not refused: ${JSON.stringify(response.data).slice(0, 300)}`];
  const problems: string[] = [];
  if (step.reason && !step.reason.test(error.reason))
    problems.push(`refused for ${error.reason}: ${error.message}`);
  if (row.outcome !== (error.code === 'E_POLICY' ? 'denied' : 'failed'))
    problems.push(`its row says ${row.outcome}`);
  if (JSON.stringify(row.errors) !== JSON.stringify([{ code: error.code, reason: error.reason }]))
    problems.push(`its row has ${JSON.stringify(row.errors)}`);
  if (row.facts !== null) problems.push('its row has facts although nothing ran');
  return problems;
}

/** Contained: the row has the profile that was seen, how it ended, and the connections. */
function runProblems(arena: Arena, step: Step, response: CallResponse, row: AuditRow): string[] {
  if (!response.ok) return [`it did not run: ${JSON.stringify(response.errors)}`];
  if (row.outcome !== 'ok') return [`its row says ${row.outcome}`];
  if (step.ends === 'answered') return [];
  const problems: string[] = [];
  const facts = (row.facts ?? {}) as Facts & { sandbox?: Record<string, unknown> };
  const { sandbox } = facts;
  const bare = Object.values((sandbox?.capabilities ?? {}) as Record<string, string>);
  if (bare.length !== 5 || bare.some((set) => !/^0+$/.test(set)))
    problems.push('its row has no profile without capabilities');
  if (sandbox?.seccomp !== 2 || sandbox?.no_new_privileges !== true)
    problems.push('its row has no profile with a filter');
  if (JSON.stringify(sandbox?.interfaces) !== '["lo"]')
    problems.push(`its interfaces are ${JSON.stringify(sandbox?.interfaces)}`);
  if (facts.exit === undefined) problems.push('its row has no exit');
  const output = linesOf([response]);
  if (step.tried && !step.tried.test(output))
    problems.push(`it did not come to the attempt: ${output.slice(-300)}`);
  if (/: command not found|Can't locate|syntax error/.test(output))
    problems.push(`the attack is broken: ${output.slice(0, 300)}`);
  const connections = (facts.connections ?? []).map(
    ({ host, port, outcome }) => `${host}:${port} ${outcome}`,
  );
  if (step.connection && !connections.some((one) => step.connection!.test(one)))
    problems.push(`its connections are ${JSON.stringify(connections)}; it printed ${output.slice(0, 300)}`);
  const more = step.check?.({ response, row, facts, arena });
  if (more) problems.push(more);
  return problems;
}

if (import.meta.main) await main(process.argv[2] === 'network', process.argv[3] ?? '');
