// Owns: the check of `haft doctor` that says how large what is in `.haft`.
// Refuses: to remove anything; `haft gc` does.
import { shownSize } from '../base/shown-size.ts';
import type { StateSizes } from '../contract/operation-handles.ts';
import { createDefaultRuntime } from './default.ts';

interface Said {
  readonly state: 'ok' | 'weaker';
  readonly evidence: string;
  readonly fix?: string;
}

export async function checkStateSize(workspace: string): Promise<Said> {
  const runtime = await createDefaultRuntime({
    workspace,
    untrusted: 'closed',
    serversMs: 0,
    onBrokenPack: () => {},
  });
  try {
    const sizes = await runtime.sizes();
    const evidence = describeSizes(sizes).join('\n    ');
    const due = await dueRows(runtime);
    if (due === 0) return { state: 'ok', evidence };
    const fact = `${due} rows of the audit are more than audit.keep says: no host was idle here since`;
    return { state: 'ok', evidence: `${evidence}\n    ${fact}; "haft gc" moves them into segments` };
  } finally {
    await runtime.close();
  }
}

async function dueRows(runtime: Awaited<ReturnType<typeof createDefaultRuntime>>): Promise<number> {
  try {
    return (await runtime.cleanUp({ dryRun: true })).archived.rows;
  } catch {
    // The policy is not trusted: what is due is not known.
    return 0;
  }
}

/** A line for each thing that has a size. */
function describeSizes(sizes: StateSizes): readonly string[] {
  const { total, database, free, rows, archivedRows, segments, segmentBytes, objects } = sizes;
  const others = {
    'folders of runs': sizes.runs,
    quarantine: sizes.quarantine,
    'copies of packs': sizes.packs,
  };
  return [
    `.haft is ${shownSize(total)}`,
    `database: ${shownSize(database)}, of which ${shownSize(free)} is free; ${rows} rows of the audit are in it`,
    `audit segments: ${archivedRows} rows in ${segments} files, ${shownSize(segmentBytes)}`,
    `objects: ${shownSize(objects.undo)} for undo, ${shownSize(objects.runs)} of runs, ${shownSize(objects.artifacts)} of artifacts, ${shownSize(objects.unreferenced)} that nothing refers to`,
    ...Object.entries(others).flatMap(([name, bytes]) => (bytes > 0 ? [`${name}: ${shownSize(bytes)}`] : [])),
  ];
}
