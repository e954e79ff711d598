// Owns: what is said about a program that has ended, or that never began.
// Refuses: to call something a result that may not be one: a program without a known end is lost.
import type { SandboxObservation, SandboxRefusal, SandboxResult } from '../../../contract/sandbox.ts';
import type { Ended } from './execute.ts';

/** The part of an observation that is the same for all programs of an engine. */
export type Machine = Pick<SandboxObservation, 'identity' | 'uid' | 'limitsBy'>;

export function conclude(ended: Ended, machine: Machine, disturbed: readonly string[]): SandboxResult {
  const { end, began, timedOut, aborted, limitHit, stdout, stderr, truncated, usage, inspection } = ended;
  if (inspection?.fault !== undefined) return { ...notRun(raced(inspection.fault)), disturbed };
  const known = began && end.ran && end.code !== undefined;
  const unstarted = !began && !aborted;
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
    ...(inspection?.seen ? { observed: { ...machine, ...inspection.seen } } : {}),
    ...(limitHit === undefined ? {} : { limitHit }),
    ...(began && !known ? { lost: true } : {}),
    ...(unstarted ? { refused: UNSTARTED } : {}),
  };
}

/** What bubblewrap said about it is in `stderr`; it names paths of the machine, so it is not in the message. */
const UNSTARTED: SandboxRefusal = {
  reason: 'shell.failed',
  message: 'Cannot start the program: its sandbox could not be set up',
  hint: 'See stderr of the result; `haft doctor` tries every guarantee of the sandbox.',
};

const raced = (fault: string): SandboxRefusal => ({
  reason: 'path.raced',
  message: `Cannot start the program: its sandbox is not as promised (${fault})`,
  hint: 'Try again: something was renamed while it was set up. If it always happens, `haft doctor` says more.',
});

/** Without a refusal it was cancelled before it came to its turn. */
export const notRun = (refused: SandboxRefusal | undefined): SandboxResult => ({
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
});
