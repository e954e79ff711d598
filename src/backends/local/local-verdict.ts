// Owns: what the end of a sandboxed program means for its attempt.
// Refuses: to call anything a success that is not one in every respect.
import type { AttemptCause } from '../../contract/attempt-cause.ts';
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
}

const LIMITS: Readonly<Record<SandboxLimitName, readonly [AttemptCause, string]>> = {
  memory: ['limit.memory', 'it used up its memory'],
  processes: ['limit.resources', 'it started too many processes'],
  cpu: ['limit.time', 'it used up its processor time'],
  file_size: ['limit.output_bytes', 'a file of it grew larger than it may'],
  bytes_written: ['limit.output_bytes', 'it wrote more bytes than it may'],
  output: ['limit.log_bytes', 'it printed more than is kept'],
};

type Row = (evidence: LocalEvidence) => readonly [AttemptCause, string] | undefined;

/** The first row that holds is the end. */
const ROWS: readonly Row[] = [
  ({ result: { refused } }) => refused && ['infrastructure.engine', refused.message],
  ({ cancelled }) => (cancelled ? ['cancelled', 'Cancelled the attempt'] : undefined),
  ({ over }) => over && [over.cause, over.message],
  ({ result: { timedOut }, resources }) =>
    timedOut ? ['limit.time', `Ended the attempt: it ran longer than ${resources.wallMs} ms`] : undefined,
  ({ result: { limitHit } }) => {
    if (limitHit === undefined) return undefined;
    const [cause, fact] = LIMITS[limitHit];
    return [cause, `Ended the attempt: ${fact}`];
  },
  ({ result: { lost, aborted } }) =>
    lost || aborted ? ['infrastructure.killed', 'The attempt was killed from outside'] : undefined,
  ({ outputs }) => (outputs?.cause === 'limit.output_bytes' ? [outputs.cause, outputs.message] : undefined),
  ({ diskFull }) =>
    diskFull
      ? ['infrastructure.disk_full', 'Cannot trust the attempt: the disk was full while it ran']
      : undefined,
  ({ result: { code } }) =>
    code === 126 || code === 127
      ? ['tool.not_started', 'Cannot start the program: it is not there or cannot be executed']
      : undefined,
  ({ result: { signal } }) =>
    signal === null ? undefined : ['tool.signal', `The program was ended by ${signal}`],
  ({ result: { code } }) =>
    code === 0 ? undefined : ['tool.exit', `The program ended with the code ${code}`],
  ({ outputs }) => outputs && [outputs.cause, outputs.message],
];

export function localVerdict(evidence: LocalEvidence): AttemptEnd {
  const { code, observed, usage } = evidence.result;
  const facts = { exitCode: code, observed: { ...observed, programs: 'host', usage } };
  for (const row of ROWS) {
    const found = row(evidence);
    if (found) return failedEnd(found[0], found[1], facts);
  }
  return { status: 'succeeded', message: 'The program ended with the code 0', ...facts };
}
