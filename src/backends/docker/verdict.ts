// Owns: what the end of a container means, from what the engine says, what the entry said, and what was watched.
// Refuses: to call anything a success that is not one in every respect. Pure: no clock, no disk, no engine.
import { constants } from 'node:os';
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import type { RunResources } from '../../contract/plan.ts';
import type { OutputProblem } from '../check-outputs.ts';
import { ENTRY_CODES } from '../entry-script.ts';
import { mismatches, type Observation } from '../observation.ts';
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
  // What it used up.
  ({ state: { exitCode, oomKilled }, resources }) =>
    oomKilled || exitCode === ENTRY_CODES.memory
      ? ['limit.memory', `Ended the attempt: it used up its ${resources.memoryBytes} bytes of memory`]
      : undefined,
  ({ killedFor }) => killedFor && [killedFor.cause, killedFor.message],
  ({ state: { startedMs, finishedMs }, resources: { wallMs } }) =>
    finishedMs - startedMs > wallMs ? ['limit.time', overTime(wallMs)] : undefined,
  ({ outputs }) => (outputs?.cause === 'limit.output_bytes' ? [outputs.cause, outputs.message] : undefined),
  ({ diskFull }) =>
    diskFull
      ? ['infrastructure.disk_full', 'Cannot trust the attempt: the disk was full while it ran']
      : undefined,
  // Nobody told what the container was like. It may have been ended before it could.
  ({ state: { exitCode }, observation }) =>
    exitCode !== KILLED && !observation
      ? ['infrastructure.containment', 'Cannot trust the attempt: its container was not observed']
      : undefined,
  // How it ended.
  ({ state: { exitCode } }) =>
    exitCode === KILLED
      ? [
          'infrastructure.killed',
          'The attempt was killed from outside: by the engine, the machine or a person',
        ]
      : undefined,
  ({ state: { exitCode } }) =>
    SIGNALLED.has(exitCode)
      ? ['tool.signal', `The program was ended by ${SIGNALLED.get(exitCode)}`]
      : undefined,
  ({ state: { exitCode } }) =>
    exitCode === 0 ? undefined : ['tool.exit', `The program ended with the code ${exitCode}`],
  ({ outputs }) => outputs && [outputs.cause, outputs.message],
];

export function verdict(evidence: Evidence): AttemptEnd {
  const { state, observation } = evidence;
  const observed = { ...observation, imageId: state.imageId };
  const exitCode = state.exitCode === ENTRY_CODES.killedInside ? KILLED : state.exitCode;
  for (const row of ROWS) {
    const found = row(evidence);
    if (found)
      return failedEnd(found[0], found[1], {
        exitCode: ENTRYS_OWN.has(exitCode) ? null : exitCode,
        observed,
      });
  }
  return { status: 'succeeded', exitCode: 0, message: 'The program ended with the code 0', observed };
}

export const overTime = (wallMs: number) => `Ended the attempt: it ran longer than ${wallMs} ms`;

const KILLED = 128 + constants.signals.SIGKILL;

const SIGNALLED: ReadonlyMap<number, string> = new Map([
  [ENTRY_CODES.killedInside, 'SIGKILL'],
  ...Object.entries(constants.signals)
    .filter(([, number]) => number !== constants.signals.SIGKILL)
    .map(([name, number]) => [128 + number, name] as const),
]);

const BEFORE: Readonly<Record<number, readonly [AttemptCause, string]>> = {
  [ENTRY_CODES.beganBefore]: ['lost', 'The attempt had begun before, and how it ended is not known'],
  [ENTRY_CODES.cannotClaim]: [
    'infrastructure.engine',
    'Cannot run the program: out/ is not its to write in the container',
  ],
  [ENTRY_CODES.notStarted]: [
    'tool.not_started',
    'Cannot start the program: the image has no executable file of that name',
  ],
};

const { ownCode: _, killedInside: __, ...ENTRYS } = ENTRY_CODES;
const ENTRYS_OWN: ReadonlySet<number> = new Set(Object.values(ENTRYS));
