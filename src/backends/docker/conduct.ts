// Owns: one attempt from wherever it stands to its end: begun, attended, judged, recorded, and only then removed.
// Refuses: to remove a container before its end is durable, and to change an end that somebody has recorded.
import { existsSync } from 'node:fs';
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { ATTEMPT_WORDS, signalOfCode, withStderr } from '../../contract/attempt-words.ts';
import { type Attempt, type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import type { RunResources } from '../../contract/plan.ts';
import { checkOutputs, type OutputProblem } from '../check-outputs.ts';
import { ENTRY_CODES, mismatches, type Observation } from '../entry-script.ts';
import { watchOut } from '../watch-out.ts';
import { readJson, writeOnce } from '../write-once.ts';
import { armFolder, attemptFiles, markDiskFull, recordEnd } from './attempt-folder.ts';
import { followLog, keepLog, logCost, type Readers } from './attempt-log.ts';
import {
  awaitContainer,
  type ContainerState,
  createContainer,
  endOfTrouble,
  inspectContainer,
  killContainer,
  patiently,
  removeContainer,
  startContainer,
} from './container.ts';
import { containerName, containerSpec, type ResolvedOptions, type Site } from './container-spec.ts';
import type { EngineApi } from './engine-api.ts';

export interface Conduct {
  /** Settles when the attempt has begun, or has ended without. */
  readonly begun: Promise<unknown>;
  /** Rejects only when the backend is closed first. */
  readonly ended: Promise<AttemptEnd>;
  cancel(): Promise<void>;
}

interface Desk {
  readonly api: EngineApi;
  readonly options: ResolvedOptions;
  readonly closing: AbortSignal;
  readonly readers: Readers;
  /** Is told of the removal, so that the backend can wait for it. */
  onRemoving(removal: Promise<void>): void;
}

export function conduct(desk: Desk, attempt: Attempt, site: Site): Conduct {
  const { api, options, closing } = desk;
  const files = attemptFiles(attempt.folder);
  const name = containerName(attempt.id);
  const patience = <T>(action: () => Promise<T>) => patiently(action, { ms: options.patienceMs, closing });
  const isCancelled = async () => (await readJson(files.cancel)) !== undefined;
  let killedFor: Kill | undefined;
  let started = false;
  const kill = async (why: Kill) => {
    killedFor ??= why;
    if (started) await patience(() => killContainer(api, name));
  };

  const beginning = patience(() => begin(api, attempt, options, site, isCancelled));
  const decide = async (): Promise<AttemptEnd> => {
    try {
      const begun = await beginning;
      if (!begun) return CANCELLED;
      started = true;
      if (killedFor) await kill(killedFor);
      const { startedMs } = begun;
      const seen = await attend({
        api,
        attempt,
        name,
        files,
        startedMs,
        logBytes: options.logBytes,
        patiently: patience,
        kill,
      });
      // Whoever removed it has recorded its end; or it was removed by somebody else.
      if (!seen) return (await readJson<AttemptEnd>(files.end)) ?? VANISHED;
      const why = killedFor ?? seen.overLog ?? ((await isCancelled()) ? asKill(CANCELLED) : undefined);
      const ended = seen.state.exitCode !== KILLED && why?.cause === 'cancelled';
      return verdict({ ...seen, user: site.user, killedFor: ended ? undefined : why });
    } catch (thrown) {
      if (closing.aborted) throw thrown;
      return endOfTrouble(thrown, started);
    }
  };

  const conclude = async (): Promise<AttemptEnd> => {
    const end = await decide();
    try {
      const recorded = await recordEnd(attempt.folder, end);
      const removal = desk.readers.done(attempt.id).then(() => removeContainer(api, name));
      desk.onRemoving(removal.then(ignore, ignore));
      return recorded;
    } catch (thrown) {
      // The container stays: it is all that is left to tell a later process.
      return endOfTrouble(thrown, started);
    }
  };

  const ended = conclude();
  ended.catch(ignore);
  return {
    begun: beginning.catch(ignore),
    ended,
    async cancel() {
      if ((await readJson(files.end)) !== undefined) return;
      await writeOnce(files.cancel, {});
      await kill(asKill(CANCELLED));
      await ended;
    },
  };
}

/** SIGKILL, as nobody inside can send it. */
const KILLED = 137;
const CANCELLED = failedEnd('cancelled', ATTEMPT_WORDS.cancelled);
const VANISHED = failedEnd(
  'lost',
  'Lost the attempt: somebody removed its container before its end was recorded',
);

const asKill = ({ cause, message }: AttemptEnd): Kill => ({ cause: cause!, message });
const ignore = () => {};

interface Begun {
  /** Milliseconds since 1970. */
  readonly startedMs: number;
}

/**
 * Safe to repeat: a name is taken once, and only what was created and never started is started. Should the container have
 * run between the look and the start, its entry finds that the attempt began before, and does not begin it again.
 * Undefined when `unwanted` said so in time.
 */
async function begin(
  api: EngineApi,
  attempt: Attempt,
  options: ResolvedOptions,
  site: Site,
  unwanted: () => Promise<boolean>,
): Promise<Begun | undefined> {
  const name = containerName(attempt.id);
  const state = await inspectContainer(api, name);
  if (state && state.phase !== 'created') return { startedMs: state.startedMs };
  if (await unwanted()) return undefined;
  if (!state) {
    await armFolder(attempt.folder, site.user);
    const isNew = await createContainer(api, name, containerSpec(attempt, options, site));
    // Somebody else was faster: what they made may have ended by now.
    if (!isNew) return begin(api, attempt, options, site, unwanted);
  }
  await startContainer(api, name);
  return { startedMs: Date.now() };
}

type Kill = NonNullable<Evidence['killedFor']>;

interface Attendance {
  readonly api: EngineApi;
  readonly attempt: Attempt;
  readonly name: string;
  readonly files: ReturnType<typeof attemptFiles>;
  readonly startedMs: number;
  readonly logBytes: number;
  patiently<T>(action: () => Promise<T>): Promise<T>;
  kill(why: Kill): Promise<void>;
}

type Seen = Omit<Evidence, 'user' | 'killedFor'> & { readonly overLog: Kill | undefined };

/** Settles when the container no longer runs; undefined when it is no longer there. */
async function attend(attendance: Attendance): Promise<Seen | undefined> {
  const { api, attempt, name, files, logBytes, patiently } = attendance;
  const { state, ...disk } = await watched(attendance);
  if (!state) return undefined;
  const diskFull = disk.diskFull || existsSync(files.diskFull);
  if (diskFull) await markDiskFull(attempt.folder);
  const log = await patiently(() => keepLog(api, name, files, logBytes));
  if (!log) return undefined;
  return {
    state,
    resources: attempt.plan.resources,
    observation: log.observation,
    overLog: log.over ? TOO_LONG : undefined,
    program: attempt.plan.argv[0],
    stderr: log.stderr,
    diskFull,
    outputs: await checkOutputs(files.out, attempt.plan),
  };
}

async function watched(
  attendance: Attendance,
): Promise<{ state: ContainerState | undefined; diskFull: boolean }> {
  const { api, attempt, name, files, startedMs, patiently, kill } = attendance;
  const quietKill = (why: Kill) => void kill(why).catch(() => {});
  const { wallMs, outputBytes } = attempt.plan.resources;
  const log = watchLog(attendance, quietKill);
  const timer = alarm(startedMs + wallMs, () =>
    quietKill({ cause: 'limit.time', message: ATTEMPT_WORDS.overTime(wallMs) }),
  );
  const out = watchOut({
    out: files.out,
    outputBytes,
    onOver: quietKill,
    initPid: async () => (await inspectContainer(api, name).catch(() => undefined))?.pid,
  });
  try {
    let state: ContainerState | undefined;
    do {
      await patiently(() => awaitContainer(api, name));
      state = await patiently(() => inspectContainer(api, name));
    } while (state?.phase === 'running');
    return { state: state?.phase === 'ended' ? state : undefined, ...(await out.stop()) };
  } finally {
    log.abort();
    timer.clear();
    await out.stop();
  }
}

function watchLog({ api, name, logBytes }: Attendance, kill: (why: Kill) => void): AbortController {
  const following = new AbortController();
  let said = 0;
  const count = (_: string, part: Buffer) => {
    said += logCost(part);
    if (said <= logBytes) return;
    following.abort();
    kill(TOO_LONG);
  };
  followLog(api, name, count, following.signal).catch(() => {});
  return following;
}

const TOO_LONG: Kill = { cause: 'limit.log_bytes', message: ATTEMPT_WORDS.overLog };

/** Timers of Node end at 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function alarm(atMs: number, ring: () => void): { clear(): void } {
  let timer: NodeJS.Timeout;
  const arm = () => {
    const left = atMs - Date.now();
    timer = left > LONGEST_TIMER_MS ? setTimeout(arm, LONGEST_TIMER_MS) : setTimeout(ring, Math.max(0, left));
  };
  arm();
  return { clear: () => clearTimeout(timer) };
}

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

const BEFORE: Readonly<Record<number, readonly [AttemptCause, string]>> = {
  [ENTRY_CODES.beganBefore]: ['lost', 'The attempt had begun before, and how it ended is not known'],
  [ENTRY_CODES.cannotClaim]: [
    'infrastructure.engine',
    'Cannot run the program: out/ is not its to write in the container',
  ],
};

const { ownCode: _, killedInside: __, ...ENTRYS } = ENTRY_CODES;
const ENTRYS_OWN: ReadonlySet<number> = new Set(Object.values(ENTRYS));
