// Owns: following the newest attempt of a run, live where it runs and from its log where it has ended.
// Refuses: to say anything twice.
import { fail } from '../../contract/errors.ts';
import { type AttemptRecord, isOpen, type RunRecord } from '../../contract/run.ts';
import { LOG_ROLE } from '../../contract/toolpack.ts';
import { backendOf, pauseOf, type RunSite } from './run-site.ts';

const LOOK_MS = 100;

export async function watchRun(
  site: RunSite,
  { runId, plan }: RunRecord,
  onLog: (chunk: Uint8Array) => void,
  signal: AbortSignal,
): Promise<AttemptRecord> {
  const newest = (await site.store.attempts(runId)).at(-1);
  if (!newest || !plan) throw fail('run.state', `Cannot watch the run ${runId}: it was never attempted`);
  const { folders, artifacts } = await site.parts();
  const pause = pauseOf(site);
  const target = { id: newest.id, runId, plan, folder: folders.at(newest.id) };
  let unfollow: (() => void) | undefined;
  try {
    for (;;) {
      signal.throwIfAborted();
      const attempt = (await site.store.attempt(newest.id)) as AttemptRecord;
      if (!isOpen(attempt.state)) {
        const log = attempt.outputs.find(({ role }) => role === LOG_ROLE);
        if (!unfollow && log) for await (const chunk of artifacts.stream(log.artifact)) onLog(chunk);
        return attempt;
      }
      if (!unfollow && attempt.state === 'running') {
        const handle = await (await backendOf(site, attempt.backend)).find(target);
        unfollow = handle?.follow((_stream, chunk) => onLog(chunk));
      }
      await pause(LOOK_MS);
    }
  } finally {
    unfollow?.();
  }
}
