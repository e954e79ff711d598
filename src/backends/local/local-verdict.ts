// Owns: what the end of a sandboxed program means for its attempt.
// Refuses: to call anything a success that is not one in every respect.
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { ATTEMPT_WORDS, withStderr } from '../../contract/attempt-words.ts';
import { type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import type { RunResources } from '../../contract/plan.ts';
import type { SandboxLimitName, SandboxResult } from '../../contract/sandbox.ts';
import type { OutputProblem } from '../check-outputs.ts';

export interface LocalEvidence {
  readonly result: SandboxResult;
  readonly resources: RunResources;
  readonly cancelled: boolean;
  readonly diskFull: boolean;
  /** Why it was ended while it ran. */
  readonly over: OutputProblem | undefined;
  /** What is wrong with out/, now that nothing writes to it. */
  readonly outputs: OutputProblem | undefined;
  readonly program: string | undefined;
  /** The end of its standard error. */
  readonly stderr: Uint8Array;
}

const LIMITS: Readonly<
  Record<SandboxLimitName, (resources: RunResources) => readonly [AttemptCause, string]>
> = {
  memory: ({ memoryBytes }) => ['limit.memory', ATTEMPT_WORDS.overMemory(memoryBytes)],
  processes: () => ['limit.resources', 'Ended the attempt: it started too many processes'],
  cpu: () => ['limit.time', 'Ended the attempt: it used up its processor time'],
  file_size: () => ['limit.output_bytes', 'Ended the attempt: a file of it grew larger than it may'],
  bytes_written: () => ['limit.output_bytes', 'Ended the attempt: it wrote more bytes than it may'],
  output: () => ['limit.log_bytes', ATTEMPT_WORDS.overLog],
};

type Row = (evidence: LocalEvidence) => readonly [AttemptCause, string] | undefined;

/** The first row that holds is the end. */
const ROWS: readonly Row[] = [
  ({ result: { refused } }) => refused && ['infrastructure.engine', refused.message],
  ({ cancelled }) => (cancelled ? ['cancelled', ATTEMPT_WORDS.cancelled] : undefined),
  ({ over }) => over && [over.cause, over.message],
  ({ result: { timedOut }, resources }) =>
    timedOut ? ['limit.time', ATTEMPT_WORDS.overTime(resources.wallMs)] : undefined,
  ({ result: { limitHit }, resources }) => (limitHit === undefined ? undefined : LIMITS[limitHit](resources)),
  ({ result: { lost, aborted } }) =>
    lost || aborted ? ['infrastructure.killed', ATTEMPT_WORDS.killed] : undefined,
  ({ outputs }) => (outputs?.cause === 'limit.output_bytes' ? [outputs.cause, outputs.message] : undefined),
  ({ diskFull }) => (diskFull ? ['infrastructure.disk_full', ATTEMPT_WORDS.diskFull] : undefined),
  ({ result: { code }, program }) =>
    code === 126 || code === 127 ? ['tool.not_started', ATTEMPT_WORDS.notStarted(program)] : undefined,
  ({ result: { signal } }) => (signal === null ? undefined : ['tool.signal', ATTEMPT_WORDS.signal(signal)]),
  ({ result: { code } }) => (code === 0 ? undefined : ['tool.exit', ATTEMPT_WORDS.exit(code)]),
  ({ outputs }) => outputs && [outputs.cause, outputs.message],
];

export function localVerdict(evidence: LocalEvidence): AttemptEnd {
  const { code, observed, usage } = evidence.result;
  const facts = { exitCode: code, observed: { ...observed, programs: 'host', usage } };
  for (const row of ROWS) {
    const found = row(evidence);
    if (found) return withStderr(failedEnd(found[0], found[1], facts), evidence.stderr);
  }
  return { status: 'succeeded', message: ATTEMPT_WORDS.exit(0), ...facts };
}
