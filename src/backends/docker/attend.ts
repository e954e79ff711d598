// Owns: being there while a container runs: its limits of time, output and log, and everything that its end is judged by.
// Refuses: to judge.
import { existsSync } from 'node:fs';
import { ATTEMPT_WORDS } from '../../contract/attempt-words.ts';
import type { Attempt } from '../../contract/backend.ts';
import { checkOutputs } from '../check-outputs.ts';
import { watchOut } from '../watch-out.ts';
import { type attemptFiles, markDiskFull } from './attempt-folder.ts';
import { followLog, keepLog, logCost } from './attempt-log.ts';
import { awaitContainer, type ContainerState, inspectContainer } from './container.ts';
import type { EngineApi } from './engine-api.ts';
import type { Evidence } from './verdict.ts';

export type Kill = NonNullable<Evidence['killedFor']>;

export interface Attendance {
  readonly api: EngineApi;
  readonly attempt: Attempt;
  readonly name: string;
  readonly files: ReturnType<typeof attemptFiles>;
  readonly startedMs: number;
  readonly logBytes: number;
  patiently<T>(action: () => Promise<T>): Promise<T>;
  kill(why: Kill): Promise<void>;
}

export type Seen = Omit<Evidence, 'user' | 'killedFor'> & { readonly overLog: Kill | undefined };

/** Settles when the container no longer runs; undefined when it is no longer there. */
export async function attend(attendance: Attendance): Promise<Seen | undefined> {
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
