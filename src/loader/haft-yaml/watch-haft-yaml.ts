// Owns: noticing that haft.yaml was written, created or removed, for hosts that live long.
// Refuses: to read it: whoever watches reloads, and keeps the policy from before when the new one has errors.
import { watch } from 'node:fs';

/** Editors write a file in several steps; one change is told for all of them. */
const SETTLE_MS = 100;

/** Answers the function that ends it. Does not keep the process alive. */
export function watchHaftYaml(workspace: string, changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  try {
    const watcher = watch(workspace, { persistent: false }, (_event, name) => {
      if (name !== 'haft.yaml') return;
      clearTimeout(timer);
      timer = setTimeout(changed, SETTLE_MS);
      timer.unref();
    });
    watcher.on('error', () => watcher.close());
    return () => {
      clearTimeout(timer);
      watcher.close();
    };
  } catch {
    // Where the system cannot watch, a new policy holds from the next start on.
    return () => {};
  }
}
