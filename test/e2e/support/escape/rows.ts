// Owns: what every call of an attack must have left in the audit: what was refused before it ran, or the profile,
// the exit and the connections of what ran.
// Refuses: to look at anything but the answer and its rows.
import { isDeepStrictEqual } from 'node:util';
import type { AuditRow } from '../../../../src/contract/store.ts';
import type { CallResponse } from '../../../../src/index.ts';
import type { Arena } from './arena.ts';
import type { Facts, Step } from './case.ts';
import { linesOf } from './sights.ts';

/** What is wrong with an answer and its rows. `step` is absent for calls that a case makes beside its steps. */
export async function rowProblems(
  arena: Arena,
  step: Step | undefined,
  response: CallResponse,
): Promise<string[]> {
  const rows = await arena.runtime.audit.rows({ callId: response.callId, limit: 10 });
  const outcomes = rows.filter(({ phase }) => phase === 'outcome');
  const [row] = outcomes;
  if (!row || outcomes.length > 1) return [`its call has ${outcomes.length} outcomes in the audit`];
  const intended = rows.length > outcomes.length;
  const problems = sameEnd(response, row);
  if (step?.ends === 'refused') problems.push(...refusalProblems(step, response, row, intended));
  const ran = response.ok || response.errors[0]?.reason === 'time.deadline';
  if (step?.ends === 'contained' && !ran) problems.push(`it did not run: ${JSON.stringify(response.errors)}`);
  if (step?.ends === 'quarantined') {
    if (response.errors[0]?.reason !== 'policy.quarantined')
      problems.push(`nothing was moved away: ${JSON.stringify(response.errors)}`);
    const more = step.check?.({ response, row, facts: (row.facts ?? {}) as Facts, arena });
    if (more) problems.push(more);
  }
  if (ran && /^shell_/.test(response.tool))
    problems.push(...runProblems(response, row, intended, step?.args.allow_network === true));
  if (step?.ends === 'contained' && ran) problems.push(...attemptProblems(arena, step, response, row));
  return problems;
}

const OUTCOMES: Readonly<Record<string, string>> = { E_POLICY: 'denied', E_TIMEOUT: 'timeout' };

/** The row says of every call what its caller was told. */
function sameEnd({ ok, errors }: CallResponse, row: AuditRow): string[] {
  const [error] = errors;
  const problems: string[] = [];
  const outcome = ok ? 'ok' : ((error && OUTCOMES[error.code]) ?? 'failed');
  if (row.outcome !== outcome) problems.push(`its row says ${row.outcome}`);
  const told = errors.map(({ code, reason }) => ({ code, reason }));
  if (JSON.stringify(row.errors) !== JSON.stringify(told))
    problems.push(`its row has ${JSON.stringify(row.errors)}`);
  if (!/^[0-9a-f]{64}$/.test(row.argsHash)) problems.push('its row does not say what was called with');
  return problems;
}

/** Refused: the row says by what, over which effects, and that nothing was about to run. */
function refusalProblems(step: Step, response: CallResponse, row: AuditRow, intended: boolean): string[] {
  const [error] = response.errors;
  if (!error) return [`it was not refused: ${JSON.stringify(response.data).slice(0, 300)}`];
  const problems: string[] = [];
  if (step.reason && !step.reason.test(error.reason))
    problems.push(`refused for ${error.reason}: ${error.message}`);
  if (row.facts !== null) problems.push('its row has facts although nothing ran');
  // A sandbox that cannot have the folder that it shall start in says so when all is set up to run.
  if (intended && row.decision.verdict === 'deny') problems.push('it was denied, and still meant to run');
  if (row.decision.rule === '') problems.push('its row names no rule');
  const commands = row.effects.filter(({ kind }) => kind === 'exec');
  if (error.reason === 'shell.not_allowed' && (commands.length === 0 || row.decision.verdict !== 'deny'))
    problems.push(`its row does not say which commands were refused: ${JSON.stringify(row.effects)}`);
  return problems;
}

/** Run: the row has the profile that was seen, how it ended, and the connections; that it would run was recorded before. */
function runProblems(response: CallResponse, row: AuditRow, intended: boolean, network: boolean): string[] {
  const problems: string[] = [];
  const facts = (row.facts ?? {}) as Facts & { sandbox?: Record<string, unknown> };
  const { sandbox, connections } = facts;
  if (!intended) problems.push('it ran without a row that says that it would');
  const bare = Object.values((sandbox?.capabilities ?? {}) as Record<string, string>);
  if (bare.length !== 5 || bare.some((set) => !/^0+$/.test(set)))
    problems.push('its row has no profile without capabilities');
  if (sandbox?.seccomp !== 2 || sandbox?.no_new_privileges !== true)
    problems.push('its row has no profile with a filter');
  if (JSON.stringify(sandbox?.interfaces) !== '["lo"]')
    problems.push(`its interfaces are ${JSON.stringify(sandbox?.interfaces)}`);
  const data = response.data as { readonly code: unknown; readonly connections: unknown } | null | undefined;
  if (facts.exit === undefined || (data && facts.exit !== data.code)) problems.push('its row has no exit');
  if (!connections || (data && !isDeepStrictEqual(connections, data.connections)))
    problems.push('its row has not the connections that its caller was told of');
  if (!network && connections?.length !== 0) problems.push('its row has connections without a network');
  return problems;
}

/** The attack was tried, and what the case says of its end is so. */
function attemptProblems(arena: Arena, step: Step, response: CallResponse, row: AuditRow): string[] {
  const problems: string[] = [];
  const facts = (row.facts ?? {}) as Facts;
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
