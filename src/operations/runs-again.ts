// Owns: the operations that act on a run: watching, cancelling and retrying it, executing it again to compare, taking it away.
// Refuses: to touch the result that is kept.

import { shownSize } from '../base/shown-size.ts';
import { ERRORS, fail } from '../contract/errors.ts';
import { type Argument, defineOperation } from '../contract/operation.ts';
import { type AttemptRecord, isOpen, type RunRecord } from '../contract/run.ts';
import type { RuntimeRuns, RunVerification } from '../contract/runs.ts';
import { toWire } from '../contract/spelling.ts';
import { describeError, table } from '../contract/terminal-text.ts';
import { attemptToWire, endOf, exitOf, findRun, runToWire, shortRun } from './run-view.ts';
import { RUN } from './runs.ts';
import { document, list as listOf, local, TEXT, text, YES } from './schemas.ts';

const BACKEND: Argument = text('NAME', 'where a run is executed, among what policy grants');
const placeOf = (backend: string | undefined) => (backend === undefined ? {} : { backend });

type Watched =
  | { readonly log: Uint8Array }
  | { readonly attempt: AttemptRecord }
  /** Nobody watches any more; the run goes on. */
  | { readonly stopped: string };

/** A character may come in two pieces. */
const decoders = new WeakMap<object, InstanceType<typeof TextDecoder>>();

export const runsWatch = defineOperation<{ readonly run: string }, AsyncIterable<Watched>>({
  id: 'runs.watch',
  summary: 'Print the log of a run as it is written, until it ends',
  description:
    'The log of its newest attempt goes to standard output, from its beginning; how it ended to standard error, and into the exit code. Ctrl-C stops watching and leaves the run going. With --json only how it ended is printed.',
  examples: ['haft runs watch run_3fa1', 'haft runs watch 3fa1 > log.txt'],
  args: { run: RUN },
  result: {
    type: 'object',
    description: 'What was written since, in base64, as `log`; last of all the attempt, as it ended.',
  },
  answers: 'lines',
  lastLine: true,
  who: 'person',
  async run({ run }, { runtime, signal, watched, say }) {
    const { runs } = await runtime();
    const runId = await findRun(runs, run);
    if (watched) say(`haft: watching ${shortRun(runId)}; Ctrl-C leaves it going\n`);
    return watch(runs, runId, signal, say);
  },
  json(one) {
    if ('attempt' in one) return attemptToWire(one.attempt);
    return 'log' in one ? { log: Buffer.from(one.log).toString('base64') } : one;
  },
  /** A terminal gets text whose control characters cannot move its cursor; a pipe gets the bytes. */
  text(one, reader) {
    const { out, err, bytes, tty } = reader;
    if ('attempt' in one) return err(`haft: attempt ${one.attempt.number} ${endOf(one.attempt)}\n`);
    if ('stopped' in one)
      return err(`haft: stopped watching; the run goes on (haft runs watch ${shortRun(one.stopped)})\n`);
    if (!tty) return bytes(one.log);
    const decoder = decoders.get(reader) ?? new TextDecoder();
    decoders.set(reader, decoder);
    out(decoder.decode(one.log, { stream: true }));
  },
  exit: (one) => ('attempt' in one ? exitOf(one.attempt) : ERRORS['time.cancelled'].exit),
});

async function* watch(
  runs: RuntimeRuns,
  runId: string,
  signal: AbortSignal,
  say: (text: string) => void,
): AsyncGenerator<Watched> {
  // Where the process that conducted it is gone, this one goes on with it.
  await runs.recover({ runId, follow: true });
  const { job } = await runs.look(runId);
  if (job) say(`haft: job ${job.id} is ${job.state}${job.reason ? ` (${job.reason})` : ''}\n`);
  const pieces: Uint8Array[] = [];
  let wake = Promise.withResolvers<void>();
  let over = false;
  const ended = runs
    .watch(
      runId,
      (chunk) => {
        pieces.push(chunk.slice());
        wake.resolve();
      },
      signal,
    )
    .finally(() => {
      over = true;
      wake.resolve();
    });
  ended.catch(() => {});
  while (!over || pieces.length > 0) {
    const [log] = pieces.splice(0, 1);
    if (log) yield { log };
    else {
      await wake.promise;
      wake = Promise.withResolvers<void>();
    }
  }
  try {
    yield { attempt: await ended };
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    yield { stopped: runId };
  }
}

/** For how long the end is waited for; it comes by itself afterwards. */
const PATIENCE_MS = 30_000;
const LOOK_MS = 100;

interface Cancelled {
  readonly runId: string;
  readonly ended: readonly AttemptRecord[];
}

export const runsCancel = defineOperation<{ readonly run: string }, Cancelled>({
  id: 'runs.cancel',
  summary: 'Cancel a run',
  description:
    'The program, the container or the job is ended with all that it started. What a run had as its result stays.',
  examples: ['haft runs cancel run_3fa1'],
  args: { run: RUN },
  result: document({ run_id: TEXT, attempts: listOf('Those that were under way.') }),
  who: 'person',
  changes: true,
  async run({ run }, { runtime, record, signal }) {
    const { runs } = await runtime();
    const runId = await findRun(runs, run);
    const ids = new Set((await runs.cancel(runId)).map(({ id }) => id));
    if (ids.size > 0) await record('haft runs cancel', { run_id: runId, attempts: [...ids] });
    return { runId, ended: await untilEnded(runs, runId, ids, signal) };
  },
  json: ({ runId, ended }) => ({ run_id: runId, attempts: ended.map(attemptToWire) }),
  text({ runId, ended }, { out }) {
    if (ended.length === 0) out(`Nothing of ${shortRun(runId)} is under way.\n`);
    for (const attempt of ended) {
      const end = isOpen(attempt.state) ? 'was asked to end, and has not yet' : endOf(attempt);
      out(`attempt ${attempt.number} ${end}\n`);
    }
  },
});

async function untilEnded(runs: RuntimeRuns, runId: string, ids: ReadonlySet<string>, signal: AbortSignal) {
  for (let waited = 0; ; waited += LOOK_MS) {
    const attempts = (await runs.attempts(runId)).filter(({ id }) => ids.has(id));
    if (!attempts.some(({ state }) => isOpen(state)) || waited > PATIENCE_MS || signal.aborted)
      return attempts;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

interface Retried {
  readonly before: string;
  readonly run: RunRecord;
  readonly newest: AttemptRecord | undefined;
  readonly replayed: boolean;
}

export const runsRetry = defineOperation<{ readonly run: string; readonly backend?: string }, Retried>({
  id: 'runs.retry',
  summary: 'Make the call of a run again',
  description:
    'Policy decides it as it decides any call. A run that succeeded is answered by its result; one that failed or was cancelled is attempted again. Where the tool, its policy or its image changed since, it is another run, and that is said. Ctrl-C cancels it.',
  examples: ['haft runs retry run_3fa1'],
  args: { run: RUN, backend: BACKEND },
  result: document({
    run_id: TEXT,
    replayed: YES,
    attempt: { type: ['object', 'null'], description: 'the newest' },
  }),
  who: 'person',
  changes: true,
  async run(args, { runtime, signal }) {
    const { runs } = await runtime();
    const before = await findRun(runs, args.run);
    const known = (await runs.attempts(before)).length;
    const run = await runs.retry(before, { signal, ...placeOf(args.backend) });
    const attempts = await runs.attempts(run.runId);
    const replayed = run.runId === before && attempts.length === known;
    return { before, run, newest: attempts.at(-1), replayed };
  },
  json: ({ run, newest, replayed }) => ({
    ...runToWire(run),
    replayed,
    attempt: newest ? attemptToWire(newest) : null,
  }),
  text({ before, run, newest, replayed }, { out, err }) {
    const [old, now] = [shortRun(before), shortRun(run.runId)];
    if (run.runId !== before)
      err(`haft: the same call is another run now, ${now}; haft runs explain ${old} ${now} says why\n`);
    if (!newest) throw fail('run.state', `Cannot retry ${old}: it was never attempted`);
    out(
      `${run.runId}  ${replayed ? 'answered by its result' : `attempt ${newest.number} ${endOf(newest)}`}\n`,
    );
  },
});

export const runsVerify = defineOperation<
  { readonly run: string; readonly backend?: string },
  RunVerification
>({
  id: 'runs.verify',
  summary: 'Execute a run again and compare every output and the result',
  description:
    'The result that is kept stays as it is, whatever comes out. The exit code is 0 where all outputs and what the tool answered are identical, and 1 where something is not. Where the toolpack, an input or a limit changed since, nothing is executed: what changed is named, and the exit code is 2.',
  examples: ['haft runs verify run_3fa1', 'haft runs verify 3fa1 --backend slurm --json'],
  args: { run: RUN, backend: BACKEND },
  result: document({
    identical: YES,
    outputs: listOf('Each, recorded and made anew.'),
    result: { type: 'object' },
  }),
  who: 'person',
  changes: true,
  async run({ run, backend }, { runtime, signal, progress }) {
    const { runs } = await runtime();
    const runId = await findRun(runs, run);
    progress({ message: 'executing it again; Ctrl-C cancels that' });
    return runs.verify(runId, { signal, ...placeOf(backend) });
  },
  json: toWire,
  text({ runId, identical, outputs, result }, { out, err }) {
    out(
      table(
        [...outputs, { role: '(result)', ...result }].map(({ role, recorded, same }) => [
          role,
          same ? 'identical' : 'differs',
          recorded ?? '-',
        ]),
      ),
    );
    if (identical) return;
    const differing = [
      ...outputs.filter(({ same }) => !same).map(({ role }) => `"${role}"`),
      ...(result.same ? [] : [`result (at ${result.paths.map((path) => `"${path}"`).join(', ')})`]),
    ];
    err(
      describeError({
        ...ERRORS['run.differs'],
        reason: 'run.differs',
        message: `Executed again, ${runId} made another ${differing.join(', ')}: the tool is not deterministic, or the machine changed`,
      }),
    );
  },
  exit: ({ identical }) => (identical ? 0 : ERRORS['run.differs'].exit),
});

export const runsExport = defineOperation<
  { readonly run: string; readonly to?: string },
  AsyncIterable<Uint8Array>
>({
  id: 'runs.export',
  summary: 'Export a run with its proof as one file',
  usage: 'RUN [--to FILE]',
  description:
    'The bundle is a tar archive: inputs, outputs, log, key preimage, policy, audit row with inclusion proof, and a signed in-toto statement over all of it. The same run gives the same file. "haft runs verify-bundle" checks it anywhere.',
  examples: ['haft runs export run_… --to result.bundle.tar'],
  args: { run: RUN, to: local(text('FILE', 'where to write it (default: RUN.bundle.tar here)')) },
  result: TEXT,
  answers: 'bytes',
  who: 'person',
  async atTerminal({ run, to }, terminal, { runtime, proofs }) {
    const runId = await findRun((await runtime()).runs, run);
    const named = to ?? `${runId}.bundle.tar`;
    const size = await terminal.writeNew(named, proofs.bundle(runId));
    const file = terminal.absolute(named);
    terminal.out(
      terminal.json ? `${JSON.stringify({ run_id: runId, file, size })}\n` : `${file}  ${shownSize(size)}\n`,
    );
    return 0;
  },
  run: async ({ run }, { runtime, proofs }) => proofs.bundle(await findRun((await runtime()).runs, run)),
});
