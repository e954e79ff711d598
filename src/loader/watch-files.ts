// Owns: noticing that files of a folder were written, created or removed, for hosts that live long.
// Refuses: to read them: whoever watches does, and keeps what held before where the new one has errors.
import { watch } from 'node:fs';

/** Editors write a file in several steps; one change is told for all of them. */
const SETTLE_MS = 100;

/** Answers the function that ends it. Does not keep the process alive. */
export function watchFiles(
  folder: string,
  names: readonly string[],
  changed: (name: string) => void,
): () => void {
  const timers = new Map<string, NodeJS.Timeout>();
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      if (name === null || !names.includes(name)) return;
      clearTimeout(timers.get(name));
      timers.set(name, setTimeout(() => changed(name), SETTLE_MS).unref());
    });
    watcher.on('error', () => watcher.close());
    return () => {
      for (const timer of timers.values()) clearTimeout(timer);
      watcher.close();
    };
  } catch {
    // Where the system cannot watch, what is new holds from the next start on.
    return () => {};
  }
}
