// Owns: what the end of a container means, from what the engine says, what the entry said, and what was watched.
// Refuses: to call anything a success that is not one in every respect. Pure: no clock, no disk, no engine.
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { ATTEMPT_WORDS, signalOfCode, withStderr } from '../../contract/attempt-words.ts';
import { type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import type { RunResources } from '../../contract/plan.ts';
import type { OutputProblem } from '../check-outputs.ts';
import { ENTRY_CODES, mismatches, type Observation } from '../entry-script.ts';
import type { ContainerState } from './container.ts';

export interface Evidence {
  readonly state: Pick<ContainerState, 'exitCode' | 'oomKilled' | 'startedMs' | 'finishedMs' | 'imageId'>;
  readonly resources: RunResources;
  readonly user: string;
  readonly observation: Observation | undefined;
  /** Why this or an earlier process killed it. */
  readonly killedFor: { readonly cause: AttemptCause; readonly message: string } | undefined;
  readonly diskFull: boolean;
  /** What is wrong with out/, whatever else is. */
  readonly outputs: OutputProblem | undefined;
  /** What it was to execute. */
  readonly program: string | undefined;
  /** The end of its standard error. */
  readonly stderr: Uint8Array;
}

/** The first row that holds is the end. */
const ROWS: readonly ((evidence: Evidence) => readonly [AttemptCause, string] | undefined)[] = [
  // Before the program began.
  ({ state: { exitCode }, observation, user }) => {
    const wrong = observation && mismatches(observation, user);
    if (wrong && wrong.length > 0)
      return ['infrastructure.containment', `Cannot run the program: ${wrong.join('; ')}`];
    return exitCode === ENTRY_CODES.containment
      ? ['infrastructure.containment', 'Cannot run the program: its container is not as it must be']
      : undefined;
  },
  ({ state: { exitCode } }) => BEFORE[exitCode],
  ({ state: { exitCode }, program }) =>
    exitCode === ENTRY_CODES.notStarted ? ['tool.not_started', ATTEMPT_WORDS.notStarted(program)] : undefined,
  // What it used up.
  ({ state: { exitCode, oomKilled }, resources }) =>
    oomKilled || exitCode === ENTRY_CODES.memory
      ? ['limit.memory', ATTEMPT_WORDS.overMemory(resources.memoryBytes)]
      : undefined,
  ({ killedFor }) => killedFor && [killedFor.cause, killedFor.message],
  ({ state: { startedMs, finishedMs }, resources: { wallMs } }) =>
    finishedMs - startedMs > wallMs ? ['limit.time', ATTEMPT_WORDS.overTime(wallMs)] : undefined,
  ({ outputs }) => (outputs?.cause === 'limit.output_bytes' ? [outputs.cause, outputs.message] : undefined),
  ({ diskFull }) => (diskFull ? ['infrastructure.disk_full', ATTEMPT_WORDS.diskFull] : undefined),
  // Nobody told what the container was like. It may have been ended before it could.
  ({ state: { exitCode }, observation }) =>
    exitCode !== KILLED && !observation
      ? ['infrastructure.containment', 'Cannot trust the attempt: its container was not observed']
      : undefined,
  // How it ended.
  ({ state: { exitCode } }) =>
    exitCode === KILLED ? ['infrastructure.killed', ATTEMPT_WORDS.killed] : undefined,
  ({ state: { exitCode } }) => {
    const signal = signalOfCode(exitCode === ENTRY_CODES.killedInside ? KILLED : exitCode);
    return signal === undefined ? undefined : ['tool.signal', ATTEMPT_WORDS.signal(signal)];
  },
  ({ state: { exitCode } }) => (exitCode === 0 ? undefined : ['tool.exit', ATTEMPT_WORDS.exit(exitCode)]),
  ({ outputs }) => outputs && [outputs.cause, outputs.message],
];

export function verdict(evidence: Evidence): AttemptEnd {
  const { state, observation } = evidence;
  const observed = { ...observation, imageId: state.imageId };
  const exitCode = state.exitCode === ENTRY_CODES.killedInside ? KILLED : state.exitCode;
  for (const row of ROWS) {
    const found = row(evidence);
    if (!found) continue;
    const facts = { exitCode: ENTRYS_OWN.has(exitCode) ? null : exitCode, observed };
    return withStderr(failedEnd(found[0], found[1], facts), evidence.stderr);
  }
  return { status: 'succeeded', exitCode: 0, message: ATTEMPT_WORDS.exit(0), observed };
}

/** SIGKILL, as nobody inside can send it. */
const KILLED = 137;

const BEFORE: Readonly<Record<number, readonly [AttemptCause, string]>> = {
  [ENTRY_CODES.beganBefore]: ['lost', 'The attempt had begun before, and how it ended is not known'],
  [ENTRY_CODES.cannotClaim]: [
    'infrastructure.engine',
    'Cannot run the program: out/ is not its to write in the container',
  ],
};

const { ownCode: _, killedInside: __, ...ENTRYS } = ENTRY_CODES;
const ENTRYS_OWN: ReadonlySet<number> = new Set(Object.values(ENTRYS));
