// Owns: what to do about an attempt, from what lies in its folder and what Slurm shows; and how it ended, from what its job left: the one place where a success is said. Pure: no clock, no disk, no Slurm.
// Refuses: to submit what was claimed, to end what may still run, to take silence for an answer before time has passed, and a verdict without a result.
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSha256, sha256Hex } from '../../base/digest.ts';
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { ATTEMPT_WORDS, signalOfCode, withStderr } from '../../contract/attempt-words.ts';
import { type Attempt, type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import { checkOutputs, kindOf, type OutEntry, outEntries, placeOf } from '../check-outputs.ts';
import { mismatches, OBSERVED_WORD, type Observation, parseObservation } from '../entry-script.ts';
import { readTail, readText } from '../write-once.ts';
import type { AttemptFiles, Claim } from './attempt-files.ts';
import { DEVICE_MOUNTS } from './contained-program.ts';
import type { HashedOutput, JobResult } from './job-script.ts';
import { type JobPhase, type JobRow, jobState } from './slurm-client.ts';

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
  'limit.log_bytes': { cause: 'limit.log_bytes', message: () => ATTEMPT_WORDS.overLog },
  killed: { cause: 'infrastructure.killed', message: () => ATTEMPT_WORDS.killed },
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

type Hashed = Omit<HashedOutput, 'src'>;

/** The first output that differs from what the job said, or undefined. */
async function differingOutput(
  out: string,
  declared: readonly string[],
  said: readonly HashedOutput[],
): Promise<string | undefined> {
  for (const src of declared) {
    const before = said.find((output) => output.src === src);
    const hash = kindOf(src) === 'file' ? hashFile : hashFolder;
    const now = await hash(`${out}/${placeOf(src)}`);
    if (before?.sha256 !== now.sha256 || before.bytes !== now.bytes) return src;
  }
  return undefined;
}

async function hashFile(path: string): Promise<Hashed> {
  const hash = createSha256();
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return { bytes, sha256: hash.hex() };
}

const OWNER_RUNS = 0o100;
/** Read at once rather than as a stream: of 20,000 small files that takes a fourth of the time. */
const SHORT = 1024 * 1024;
const AT_ONCE = 8;

/** As coreutils on the node can say it: a record for each folder, for each file that can be run and for each file's hash, in order. */
async function hashFolder(path: string): Promise<Hashed> {
  const records: Buffer[] = [];
  const files: OutEntry[] = [];
  for await (const entry of outEntries(path)) {
    if (entry.kind === 'folder') records.push(Buffer.from(`folder ${entry.path}`));
    if (entry.kind === 'file') files.push(entry);
  }
  let bytes = 0;
  const queue = files.values();
  const work = async (): Promise<void> => {
    for (const entry of queue) {
      const place = `${path}/${entry.path}`;
      const hashed = entry.bytes > SHORT ? await hashFile(place) : hashBytes(await readFile(place));
      bytes += hashed.bytes;
      records.push(Buffer.from(`${hashed.sha256}  ./${entry.path}`));
      if ((await stat(place)).mode & OWNER_RUNS) records.push(Buffer.from(`runs ${entry.path}`));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const end = Buffer.alloc(1);
  const hash = createSha256();
  for (const record of records.sort(Buffer.compare)) hash.update(Buffer.concat([record, end]));
  return { bytes, sha256: hash.hex() };
}

const hashBytes = (bytes: Uint8Array): Hashed => ({ bytes: bytes.length, sha256: sha256Hex(bytes) });

interface ObservedSandbox {
  /** Inheritable, permitted, effective, bounding and ambient, in hex. */
  readonly capabilities: readonly string[];
  readonly noNewPrivileges: boolean;
  /** 2 is a filter; absent where policy sets none, or where the program was gone before anybody could look. */
  readonly seccomp?: number;
  readonly interfaces: readonly string[];
  readonly readOnlyRoot: boolean;
  readonly readOnlyInputs: boolean;
  /** Without the devices that anybody may use. */
  readonly writableMounts: readonly string[];
}

interface Observed {
  readonly facts: ObservedSandbox | (Observation & { readonly imageId?: string });
  /** In words; empty when all is as it must be. */
  readonly wrong: readonly string[];
}

/** What the entry of a container wrote, or what the job saw of a sandbox from outside. */
function parseObserved(text: string): Observed {
  const [line = '', ...more] = text.split('\n');
  const seen = line.startsWith(OBSERVED_WORD) ? parseObservation(line) : undefined;
  if (!seen) return { facts: parseSandbox(text), wrong: [] };
  const id = /^image (?:sha256:)?([0-9a-f]{64})$/.exec(more[0] ?? '')?.[1];
  const facts = { ...seen, ...(id === undefined ? {} : { imageId: `sha256:${id}` }) };
  // Which user it is depends on who the job runs as on its node; root it never is.
  const root = /^0:|:0$/.test(facts.user) ? ['it runs as root'] : [];
  return { facts, wrong: [...root, ...mismatches(facts, facts.user, DEVICE_MOUNTS)] };
}

/** `text` is made of parts of /proc, each after a line `== name`. */
function parseSandbox(text: string): ObservedSandbox {
  const parts = new Map(
    text.split(/^== /m).map((part) => {
      const end = part.indexOf('\n');
      return [part.slice(0, end), part.slice(end + 1).split('\n')] as const;
    }),
  );
  const linesOf = (name: string) => parts.get(name) ?? [];
  const status = new Map(linesOf('status').map((line) => line.split(/:\s*/, 2) as [string, string]));
  const mounts = new Map(linesOf('mountinfo').map((line) => line.split(' ').slice(4, 6) as [string, string]));
  const readOnly = (at: string) => /^ro\b/.test(mounts.get(at) ?? '');
  const [seccomp] = linesOf('seccomp');
  return {
    capabilities: CAPABILITY_SETS.map((set) => status.get(set) ?? ''),
    noNewPrivileges: status.get('NoNewPrivs') === '1',
    ...(seccomp === undefined ? {} : { seccomp: Number(seccomp) }),
    interfaces: linesOf('net/dev').flatMap((line) => /^\s*([^\s:|]+):/.exec(line)?.[1] ?? []),
    readOnlyRoot: readOnly('/'),
    readOnlyInputs: readOnly('/work/in'),
    writableMounts: [...mounts.keys()].filter((at) => at && !readOnly(at) && !DEVICES.test(at)).sort(),
  };
}

const CAPABILITY_SETS = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'];
const DEVICES = /^\/dev\/(null|zero|full|random|urandom|tty|console|pts)$/;

export interface Facts {
  /** What Slurm shows under its name. Asked for after the claim was read, and before the result was. */
  readonly rows: readonly JobRow[];
  readonly claim: Claim | undefined;
  readonly result: JobResult | undefined;
  readonly cancelAsked: boolean;
  /** Since somebody last called sbatch for it. */
  readonly sinceAskedMs: number;
  /** For how long `rows` have shown that it is over, or nothing at all. */
  readonly quietMs: number;
  /** After which an answer of sbatch, a file of a job or a row of the accounting is no longer on its way. */
  readonly settleMs: number;
}

export type Step =
  | { readonly do: 'wait' }
  | { readonly do: 'submit' }
  /** No job holds the claim: it must be taken, so that none ever will, before this is the end. */
  | { readonly do: 'seal'; readonly end: AttemptEnd }
  /** `leftover`: whether jobs of its name may still wait to run. */
  | { readonly do: 'end'; readonly end: AttemptEnd; readonly leftover: boolean };

/** A result that is not `told` is for the verdict, and does not come here. */
export function nextStep(facts: Facts): Step {
  const { claim, result, rows } = facts;
  if (claim?.by === 'nobody') return { do: 'end', end: claim.end, leftover: true };
  const holder = result?.job ?? claim?.job;
  if (holder === undefined) return unclaimedStep(facts);
  const row = rows.find(({ id }) => id === holder);
  if (result && facts.cancelAsked) return { do: 'end', end: cancelledEnd(), leftover: rows.length > 1 };
  const phase = row ? jobState(row.state).phase : 'gone';
  return CLAIMED[phase](facts, row);
}

export const cancelledEnd = (): AttemptEnd => failedEnd('cancelled', ATTEMPT_WORDS.cancelled);

/** The job that executes the attempt, by what Slurm says about it. */
const CLAIMED: Readonly<Record<JobPhase | 'gone', (facts: Facts, row: JobRow | undefined) => Step>> = {
  running: () => ({ do: 'wait' }),
  unknown: () => ({ do: 'wait' }),
  queued: () => ({
    do: 'end',
    end: failedEnd(
      'infrastructure.requeued',
      'Ended the attempt: Slurm put its job back into the queue after it had begun',
    ),
    leftover: true,
  }),
  ended: (facts, row) =>
    isSettled(facts) || facts.result ? over(facts, endOf(row!, facts)) : { do: 'wait' },
  gone: (facts) => {
    if (facts.quietMs < GONE * facts.settleMs) return { do: 'wait' };
    const [cause, fact] = facts.result
      ? (['infrastructure.killed', 'something told its job to end, and Slurm no longer knows what'] as const)
      : (['lost', 'its job began, and Slurm no longer knows it'] as const);
    return over(facts, failedEnd(cause, `Cannot finish the attempt: ${fact}`));
  },
};

/** The accounting may be behind by many seconds. */
const GONE = 5;

const isSettled = ({ quietMs, settleMs }: Facts) => quietMs >= settleMs;
const over = ({ rows }: Facts, end: AttemptEnd): Step => ({ do: 'end', end, leftover: rows.length > 1 });

function unclaimedStep(facts: Facts): Step {
  const { rows, sinceAskedMs, settleMs } = facts;
  const last = rows.at(-1);
  if (!last) return sinceAskedMs < settleMs ? { do: 'wait' } : { do: 'submit' };
  const over = rows.every(({ state }) => jobState(state).phase === 'ended');
  if (!over || !isSettled(facts)) return { do: 'wait' };
  return { do: 'seal', end: endOf(last, facts) };
}

function endOf(row: JobRow, { result, cancelAsked }: Facts): AttemptEnd {
  const { end } = jobState(row.state);
  if (!end) throw new TypeError(`${row.state} is no end`);
  if (end.cause === 'cancelled' && cancelAsked) return cancelledEnd();
  // It was told to end, obeyed, and its own exit code is all that Slurm has.
  if (result && (end.cause === 'lost' || end.cause === 'infrastructure.engine'))
    return failedEnd(
      'infrastructure.killed',
      'Ended the attempt: something outside of it told its job to end',
    );
  const what = end.cause === 'cancelled' ? ATTEMPT_WORDS.cancelled : 'Cannot finish the attempt';
  return failedEnd(end.cause, `${what}: ${end.fact} (job ${row.id}, ${row.state})`);
}
