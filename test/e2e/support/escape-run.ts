// Owns: a process that tries every escape case, and says of each how it went.
// Refuses: to judge alone by answers: what is to be seen outside counts, and what the audit has.
// usage: escape-run.ts [network | plain] [PART OF A NAME]
import type { CallResponse } from '../../../src/index.ts';
import { type Arena, makeArena } from './escape/arena.ts';
import type { EscapeCase, Sight, Step } from './escape/case.ts';
import { rowProblems } from './escape/rows.ts';
import { watchArena } from './escape/sights.ts';
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
  /** How many calls it made; the rows of each were looked at. */
  readonly calls: number;
  readonly ms: number;
}

async function main(network: boolean, part: string): Promise<void> {
  const arena = await makeArena(network);
  const cases = ESCAPE_CASES.filter(
    (one) => (network || !one.network) && `${one.category} ${one.name}`.includes(part),
  );
  const say = (report: CaseReport) => void process.stdout.write(`${JSON.stringify(report)}\n`);
  try {
    // What mostly waits does so beside the others.
    const waiting = cases.filter(({ waits }) => waits).map(async (one) => say(await attempt(arena, one)));
    for (const one of cases.filter(({ waits }) => !waits)) {
      arena.arm();
      say(await attempt(arena, one));
    }
    await Promise.all(waiting);
    const verdict = await arena.runtime.audit.verify();
    if (!verdict.ok) throw new Error(`the audit does not verify: ${JSON.stringify(verdict)}`);
  } finally {
    await arena.close();
  }
}

async function attempt(arena: Arena, one: EscapeCase): Promise<CaseReport> {
  const watch = watchArena(arena);
  const started = performance.now();
  const responses = await inTime(
    one.run ? one.run(arena) : inTurn(arena, one.steps),
    `${one.category}: ${one.name}`,
    90_000,
  );
  const ms = Math.round(performance.now() - started);
  // Beside others only its own sight is its own.
  const seen = Object.entries(watch.look(responses))
    .filter(([sight]) => !one.waits || sight === one.sight)
    .map(([sight, what]) => `it succeeded (${sight}): ${what}`);
  const wrong: string[] = [];
  for (const [at, response] of responses.entries())
    wrong.push(...(await rowProblems(arena, one.steps[at], response)));
  if (responses.length < one.steps.length) wrong.push('not all of its calls were answered');
  // What an attack broke must not be seen again in the next one.
  if (seen.length > 0) arena.arm(true);
  const ran = one.steps.some(({ ends }) => ends === 'contained' || ends === 'quarantined');
  return {
    category: one.category,
    name: one.name,
    sight: one.sight,
    ended: ran ? 'contained' : 'refused',
    problems: [...seen, ...wrong],
    calls: responses.length,
    ms,
  };
}

async function inTurn(arena: Arena, steps: readonly Step[]): Promise<CallResponse[]> {
  const responses: CallResponse[] = [];
  for (const step of steps) responses.push(await arena.call(step));
  return responses;
}

if (import.meta.main) await main(process.argv[2] === 'network', process.argv[3] ?? '');
