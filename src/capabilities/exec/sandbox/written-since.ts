// Owns: what was changed in a folder since a moment: how much space each entry takes, newest places first.
// Refuses: to follow links, to look at Haft's own files, and to stop for what it cannot read.
import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { orUndefined } from '../../../base/or-undefined.ts';

export interface Changed {
  readonly bytes: number;
  /** Somebody made a place that cannot be looked into. */
  readonly hidden: boolean;
}

const NOTHING: Changed = { bytes: 0, hidden: false };
const HIDDEN: Changed = { bytes: 0, hidden: true };

/** One for each entry, so that its caller can pause between two. */
export function* changedSince(folder: string, since: number): Generator<Changed> {
  const own = join(folder, '.haft');
  const isNew = (stat: Stats | undefined) => stat !== undefined && stat.ctimeMs >= since;
  // What was shut before is none of its doing; what has too long a name cannot even be asked.
  const shut = (at: string, why: string) =>
    why === 'ENAMETOOLONG' || isNew(orUndefined(() => lstatSync(at))) ? HIDDEN : NOTHING;
  // A folder in which something was made or removed comes first: most programs that write much, make files.
  const changed = [folder];
  const others: string[] = [];
  for (let at = changed.pop(); at !== undefined; at = changed.pop() ?? others.pop()) {
    const entries = attempt(() => readdirSync(at!, { withFileTypes: true }));
    if (typeof entries === 'string') {
      yield shut(at, entries);
      continue;
    }
    for (const entry of entries) {
      const path = join(at, entry.name);
      if (path === own) continue;
      const stat = attempt(() => lstatSync(path));
      if (typeof stat === 'string') {
        yield stat === 'ENOENT' ? NOTHING : shut(at, stat);
        continue;
      }
      if (stat.isDirectory()) (isNew(stat) ? changed : others).push(path);
      // Folders and links take space as well.
      yield isNew(stat) ? { bytes: stat.blocks * 512, hidden: false } : NOTHING;
    }
  }
}

/** What it answers, or the code of the error. */
function attempt<T extends object>(action: () => T): T | string {
  try {
    return action();
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code ?? '';
  }
}
