// Owns: what is said about a program that has ended, or that never began.
// Refuses: to call something a result that may not be one: a program without a known end is lost.
import type { SandboxObservation, SandboxRefusal, SandboxResult } from '../../../contract/sandbox.ts';
import type { Ended } from './execute.ts';

/** bubblewrap's own failures, and those of the shell that starts it. */
const SET_UP_FAILED = [1, 126, 127];

export function conclude(
  ended: Ended,
  observed: SandboxObservation,
  disturbed: readonly string[],
): SandboxResult {
  const { end, timedOut, aborted, limitHit, stdout, stderr, truncated, usage } = ended;
  const stopped = timedOut || aborted || limitHit !== undefined;
  const unstarted = !end.ran && !stopped && (!ended.started || SET_UP_FAILED.includes(end.code ?? -1));
  const lost = !unstarted && (end.code === undefined || (!end.ran && !stopped));
  const known = end.ran && end.code !== undefined;
  return {
    code: known ? end.code! : null,
    signal: known ? ended.signal : null,
    stdout,
    stderr,
    truncated,
    timedOut,
    aborted,
    disturbed,
    usage,
    observed,
    ...(limitHit === undefined ? {} : { limitHit }),
    ...(lost ? { lost } : {}),
    ...(unstarted ? { refused: UNSTARTED } : {}),
  };
}

/** What bubblewrap said about it is in `stderr`; it names paths of the machine, so it is not in the message. */
const UNSTARTED: SandboxRefusal = {
  reason: 'shell.failed',
  message: 'Cannot start the program: its sandbox could not be set up',
  hint: 'See stderr of the result; `haft doctor` tries every guarantee of the sandbox.',
};

export const notRun = (
  refused: SandboxRefusal | undefined,
  observed?: SandboxObservation,
): SandboxResult => ({
  code: null,
  signal: null,
  stdout: new Uint8Array(),
  stderr: new Uint8Array(),
  truncated: { stdout: false, stderr: false },
  timedOut: false,
  aborted: refused === undefined,
  disturbed: [],
  usage: { wallMs: 0 },
  ...(refused ? { refused } : {}),
  ...(observed ? { observed } : {}),
});
