// Owns: attempts in the sandbox of this machine, for hosts without an engine: the same plan, the programs of the host.
// Refuses: images, and to let an attempt outlive the process that executes it: the sandbox ends with it.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Attempt,
  type AttemptEnd,
  type Backend,
  type BackendHandle,
  failedEnd,
} from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import type { Variables } from '../../contract/run-environment.ts';
import type { SandboxHandle } from '../../contract/sandbox.ts';
import { readJson, writeOnce } from '../write-once.ts';
import { executeLocal, followStreams, localFiles, lostEnd, writeEnd } from './execute-local.ts';

export interface LocalBackendOptions {
  /** The folder that attempts' folders are in. */
  readonly root: string;
  /** A sandbox whose workspace is `root`; made when the first attempt needs it. */
  readonly sandbox: () => SandboxHandle;
  /** What the ENV of an image says that a plan names, though its programs are this machine's. Rejects where that is not known and must be. */
  readonly imageEnv?: (image: string) => Promise<Variables | undefined>;
  /** This process, and whether another one still runs. */
  readonly process: string;
  readonly isAlive: (process: string) => boolean;
}

interface Claim {
  readonly process: string;
}

/** Its end may be written by another process. */
const LOOK_EVERY_MS = 20;

export function createLocalBackend(options: LocalBackendOptions): Backend {
  let made: SandboxHandle | undefined;
  const sandbox = (): SandboxHandle => {
    made ??= options.sandbox();
    return made;
  };
  const running = new Map<string, Promise<unknown>>();

  const begin = (attempt: Attempt, env: Variables | undefined): void => {
    const work = executeLocal(sandbox(), attempt, env)
      .catch(() => failedEnd('infrastructure.engine', 'Cannot execute the attempt: the sandbox failed'))
      .then((end) => writeEnd(attempt, end))
      .catch(() => {})
      .finally(() => running.delete(attempt.id));
    running.set(attempt.id, work);
  };

  const handleOf = (attempt: Attempt): BackendHandle => {
    const files = localFiles(attempt.folder);
    return {
      attemptId: attempt.id,
      async wait(signal) {
        for (;;) {
          signal.throwIfAborted();
          const end = await endOf(attempt, options);
          if (end) return end;
          await pauseUnless(signal);
        }
      },
      async cancel() {
        if (await endOf(attempt, options)) return;
        await writeOnce(files.cancel, {});
        await this.wait(new AbortController().signal);
      },
      follow: (onChunk) => followStreams(files, onChunk, () => existsSync(files.end)),
    };
  };

  return {
    name: 'local',
    async start(attempt) {
      const available = await sandbox().available();
      if (!available.ok)
        throw fail('sandbox.unavailable', `Cannot run on this machine: ${available.reason}`, {
          hint: available.hint,
        });
      const { image } = attempt.plan;
      const env = image === undefined ? undefined : await options.imageEnv?.(image);
      const { claim } = localFiles(attempt.folder);
      if (await writeOnce(claim, { process: options.process })) begin(attempt, env);
      return handleOf(attempt);
    },
    async find(attempt) {
      return existsSync(localFiles(attempt.folder).claim) ? handleOf(attempt) : undefined;
    },
    async reap(isOpen) {
      const names = await readdir(options.root).catch(() => []);
      const reaped: string[] = [];
      for (const id of names.filter((name) => /^att_[a-z0-9]+$/.test(name))) {
        const attempt = { id, folder: join(options.root, id) } as Attempt;
        if (
          !existsSync(localFiles(attempt.folder).claim) ||
          (await endOf(attempt, options)) ||
          (await isOpen(id))
        )
          continue;
        await handleOf(attempt).cancel();
        reaped.push(id);
      }
      return reaped;
    },
    async close() {
      await made?.close();
      await Promise.all(running.values());
    },
  };
}

/**
 * The end that is written; of an attempt whose process died, that it is lost. One that was claimed and is no longer there
 * was removed once its end was known: whoever still waits must not wait for ever.
 */
async function endOf(attempt: Attempt, { isAlive }: LocalBackendOptions): Promise<AttemptEnd | undefined> {
  const files = localFiles(attempt.folder);
  const written = await readJson<AttemptEnd>(files.end);
  if (written) return written;
  const claim = await readJson<Claim>(files.claim);
  if (!claim) return lostEnd();
  if (isAlive(claim.process)) return undefined;
  await writeEnd(attempt, lostEnd());
  return readJson<AttemptEnd>(files.end);
}

function pauseUnless(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, LOOK_EVERY_MS);
    signal.addEventListener('abort', done);
  });
}
