// Owns: what can be asked of one container, and what the engine's answers mean.
// Refuses: to go on where the engine says something unknown, and to show paths of this machine: engines put them into their messages.

import { setTimeout as pause } from 'node:timers/promises';
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import { type EngineAnswer, type EngineApi, isEngineTrouble } from './engine-api.ts';

export interface ContainerState {
  readonly id: string;
  readonly phase: 'created' | 'running' | 'ended' | 'going';
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** Why the engine could not start it. */
  readonly error: string;
  /** Milliseconds since 1970; not a number before it began or ended. */
  readonly startedMs: number;
  readonly finishedMs: number;
  /** As the engine's machine counts; 0 when it does not run. */
  readonly pid: number;
  readonly imageId: string;
}

/** The engine refused. `status` is that of HTTP. */
type EngineRefusal = Error & { readonly status: number };

const isRefusal = (thrown: unknown): thrown is EngineRefusal =>
  thrown instanceof Error && 'status' in thrown && typeof thrown.status === 'number';

/** What `State.Status` may be; `paused` and `restarting` are nobody's wish here, and they go on. */
const PHASES: Readonly<Record<string, ContainerState['phase']>> = {
  created: 'created',
  configured: 'created',
  initialized: 'created',
  running: 'running',
  paused: 'running',
  restarting: 'running',
  stopping: 'running',
  exited: 'ended',
  stopped: 'ended',
  dead: 'ended',
  removing: 'going',
};

/** Undefined when there is none of this name or id. */
export async function inspectContainer(api: EngineApi, name: string): Promise<ContainerState | undefined> {
  const answer = await api.call('GET', `/containers/${name}/json`);
  if (answer.status === 404) return undefined;
  const { Id, Image, State } = expect(answer, 200).body as InspectBody;
  return {
    id: Id,
    phase: PHASES[State.Status] ?? 'running',
    exitCode: State.ExitCode,
    oomKilled: State.OOMKilled === true,
    error: State.Error ?? '',
    startedMs: Date.parse(State.StartedAt),
    finishedMs: Date.parse(State.FinishedAt),
    pid: State.Pid ?? 0,
    imageId: Image.startsWith('sha256:') ? Image : `sha256:${Image}`,
  };
}

interface InspectBody {
  readonly Id: string;
  readonly Image: string;
  readonly State: {
    readonly Status: string;
    readonly ExitCode: number;
    readonly OOMKilled?: boolean;
    readonly Error?: string;
    readonly StartedAt: string;
    readonly FinishedAt: string;
    readonly Pid?: number;
  };
}

/** False when the name is taken. Refuses with 404 when the image is not there: nothing is ever pulled. */
export async function createContainer(api: EngineApi, name: string, spec: object): Promise<boolean> {
  const answer = await api.call('POST', `/containers/create?name=${name}`, spec);
  // Podman tells a name that is taken as a failure of its own.
  if (answer.status === 409 || /name .* (already )?in use/i.test(answer.message)) return false;
  expect(answer, 201);
  return true;
}

/** It may be running already: nothing happens then. */
export async function startContainer(api: EngineApi, name: string): Promise<void> {
  expect(await api.call('POST', `/containers/${name}/start`), 204, 304);
}

/** Answers when it no longer runs, or is no longer there. Only ask once it was started. */
export async function awaitContainer(api: EngineApi, name: string): Promise<void> {
  expect(await api.call('POST', `/containers/${name}/wait?condition=not-running`), 200, 404);
}

/** SIGKILL to all of it. Nothing happens when it does not run. */
export async function killContainer(api: EngineApi, name: string): Promise<void> {
  expect(await api.call('POST', `/containers/${name}/kill?signal=SIGKILL`), 204, 404, 409);
}

/** Also while it runs. False when it was not there, or somebody else is at it. */
export async function removeContainer(api: EngineApi, name: string): Promise<boolean> {
  const answer = expect(
    await api.call('DELETE', `/containers/${name}?v=true&force=true`),
    204,
    200,
    404,
    409,
  );
  return answer.status < 300;
}

export async function listContainers(
  api: EngineApi,
  label: string,
): Promise<readonly { readonly id: string; readonly labels: Readonly<Record<string, string>> }[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [label] }));
  const { body } = expect(await api.call('GET', `/containers/json?all=true&filters=${filters}`), 200);
  const rows = body as {
    readonly Id: string;
    readonly State: string;
    readonly Labels: Record<string, string>;
  }[];
  return rows
    .filter(({ State }) => State !== 'removing')
    .map(({ Id, Labels }) => ({ id: Id, labels: Labels }));
}

export const logsPath = (name: string, follow: boolean) =>
  `/containers/${name}/logs?stdout=true&stderr=true&follow=${follow}`;

function expect(answer: EngineAnswer, ...statuses: readonly number[]): EngineAnswer {
  if (statuses.includes(answer.status)) return answer;
  throw Object.assign(new Error(answer.message || `it answered ${answer.status}`), { status: answer.status });
}

/** `begun` says whether it may have been started when the engine went away. */
export function endOfTrouble(thrown: unknown, begun: boolean): AttemptEnd {
  if (isEngineTrouble(thrown)) {
    return begun || thrown.sent
      ? failedEnd('lost', 'Lost the attempt: the engine went away and did not come back')
      : failedEnd('infrastructure.engine', `Cannot run the attempt: ${UNREACHABLE}`);
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const cause = CAUSES.find(([pattern]) => pattern.test(message))?.[1] ?? 'infrastructure.engine';
  const who = isRefusal(thrown) ? 'the engine says' : 'the machine says';
  return failedEnd(cause, `Cannot run the attempt: ${who} "${withoutPaths(message)}"`);
}

const CAUSES: readonly (readonly [RegExp, AttemptCause])[] = [
  [/no such image/i, 'infrastructure.image'],
  [/no space left on device|ENOSPC/i, 'infrastructure.disk_full'],
];

const withoutPaths = (message: string) =>
  message.replaceAll(/(?<![\w.@-])\/(?!work\b)[^\s:"',]+/g, '…').slice(0, 400);

interface Patience {
  /** How long the engine may be away. */
  readonly ms: number;
  /** Once it aborts, nothing is tried again. */
  readonly closing: AbortSignal;
}

/** Repeats an action, which must be safe to repeat, while the engine cannot be reached. */
export async function patiently<T>(action: () => Promise<T>, { ms, closing }: Patience): Promise<T> {
  const started = performance.now();
  let sent = false;
  for (let delay = 50; ; delay = Math.min(delay * 2, 1000)) {
    try {
      return await action();
    } catch (thrown) {
      if (!isEngineTrouble(thrown)) throw thrown;
      sent ||= thrown.sent;
      const waited = performance.now() + delay - started;
      if (closing.aborted || waited > (sent ? ms : Math.min(ms, UNHEARD_MS)))
        throw Object.assign(thrown, { sent });
      await pause(delay, undefined, { signal: closing }).catch(() => {});
    }
  }
}

/** An engine that has heard nothing yet may be starting up. It is not waited for as one that holds an attempt is. */
const UNHEARD_MS = 3000;

/** What callers are told who asked for something else than an attempt. */
export function withoutEngine(thrown: unknown): never {
  if (!isEngineTrouble(thrown) && !isRefusal(thrown)) throw thrown;
  throw fail(
    'run.infrastructure',
    `Cannot ask the engine: ${isRefusal(thrown) ? withoutPaths(thrown.message) : UNREACHABLE}`,
  );
}

const UNREACHABLE =
  'the engine cannot be reached; start it, or name its socket in haft.yaml (runs.docker.socket); "haft doctor" tries it';
