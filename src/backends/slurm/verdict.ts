// Owns: how an attempt ended, from what its job left: the one place where a success is said.
// Refuses: Slurm's states; without a result there is no verdict here.
import { setTimeout as sleep } from 'node:timers/promises';
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { ATTEMPT_WORDS, signalOfCode, withStderr } from '../../contract/attempt-words.ts';
import { type Attempt, type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import { checkOutputs } from '../check-outputs.ts';
import { readTail } from '../read-tail.ts';
import { readText } from '../write-once.ts';
import type { AttemptFiles } from './attempt-files.ts';
import { differingOutput } from './hash-outputs.ts';
import type { JobResult } from './job-script.ts';
import { parseObserved } from './observed.ts';

/** All ends but `told`: who sent the signal is for Slurm to say. */
export async function verdictOf(
  attempt: Attempt,
  files: AttemptFiles,
  result: JobResult,
  pauses: readonly number[] = [200, 1000, 4000],
): Promise<AttemptEnd> {
  const { job, node } = result;
  const text = await readText(files.observed);
  const { facts, wrong } = text === undefined ? NOTHING_SEEN : parseObserved(text);
  const observed = { ...facts, job, node };
  const failed = async (cause: AttemptCause, fact: string) =>
    withStderr(
      failedEnd(cause, fact, { exitCode: result.code < 0 ? null : result.code, observed }),
      await readTail(files.streams.stderr),
    );

  if (wrong.length > 0)
    return failed('infrastructure.containment', `Cannot run the program: ${wrong.join('; ')}`);
  const stopped = STOPPED[result.ended];
  if (stopped) return failed(stopped.cause, stopped.message(attempt));
  if (result.ended === 'setup') {
    const trouble = (await readText(files.trouble))?.trim() ?? 'nobody can say why';
    return failed('infrastructure.engine', `Cannot start the program: ${trouble}`);
  }
  if (result.oom) return failed('limit.memory', ATTEMPT_WORDS.overMemory(attempt.plan.resources.memoryBytes));
  if (!result.started) return failed('tool.not_started', ATTEMPT_WORDS.notStarted(attempt.plan.argv[0]));
  if (result.code !== 0) return failed(...failedProgram(result));

  const out = `${attempt.folder}/out`;
  const problem = await checkOutputs(out, attempt.plan);
  if (problem) return failed(problem.cause, problem.message);
  const declared = attempt.plan.outputs.map(({ src }) => src);
  const differing = await stillDiffering(() => differingOutput(out, declared, result.outputs), pauses);
  if (differing !== undefined)
    return failed(
      'infrastructure.outputs',
      `Cannot take the outputs: "out/${differing}" is not what the job had hashed`,
    );
  return { status: 'succeeded', exitCode: 0, message: ATTEMPT_WORDS.exit(0), observed };
}

const NOTHING_SEEN = { facts: {}, wrong: [] };

const STOPPED: Partial<
  Record<JobResult['ended'], { readonly cause: AttemptCause; message(attempt: Attempt): string }>
> = {
  'limit.time': {
    cause: 'limit.time',
    message: ({ plan }) => ATTEMPT_WORDS.overTime(plan.resources.wallMs),
  },
  'limit.output_bytes': {
    cause: 'limit.output_bytes',
    message: ({ plan }) =>
      `Ended the attempt: it wrote more than ${plan.resources.outputBytes} bytes to out/`,
  },
  'limit.log_bytes': {
    cause: 'limit.log_bytes',
    message: () => ATTEMPT_WORDS.overLog,
  },
  killed: {
    cause: 'infrastructure.killed',
    message: () => ATTEMPT_WORDS.killed,
  },
  containment: {
    cause: 'infrastructure.containment',
    message: () => 'Cannot start the program: its sandbox is not what policy demands',
  },
};

function failedProgram({ code, full }: JobResult): [AttemptCause, string] {
  if (full) return ['infrastructure.disk_full', ATTEMPT_WORDS.diskFull];
  const signal = signalOfCode(code);
  return signal ? ['tool.signal', ATTEMPT_WORDS.signal(signal)] : ['tool.exit', ATTEMPT_WORDS.exit(code)];
}

/** A network file system may show the result before all of the outputs. */
async function stillDiffering(
  look: () => Promise<string | undefined>,
  pauses: readonly number[],
): Promise<string | undefined> {
  let found = await look();
  for (const pause of pauses) {
    if (found === undefined) break;
    await sleep(pause);
    found = await look();
  }
  return found;
}
