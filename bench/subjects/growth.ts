// Owns: what a call costs when the audit has grown, against one with a young audit.
// Refuses: rows that no store wrote: they are appended through the store itself.
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { drive, repeat } from '../drive.ts';
import { makeFiles, makeWorkspace, sourceText } from '../fixtures.ts';
import { type Contender, defineSubject } from '../measure.ts';
import { timeProcess } from '../processes.ts';
import { HAFT, mustCall, openRuntime } from '../product.ts';

interface Site {
  readonly workspace: string;
  readonly runtime: DefaultRuntime;
}
interface State {
  readonly grown: Site;
  readonly young: Site;
}

const GROWN = 500_000;
const GROWN_QUICK = 100_000;
const YOUNG = 1_000;
const FILES = 64;
const CONTENT = sourceText(1024);
const PEER = `${YOUNG.toLocaleString('en')} rows`;
const OURS = `${GROWN.toLocaleString('en')} rows`;

async function openSite(rows: number): Promise<Site> {
  const workspace = makeWorkspace();
  makeFiles(workspace, 'file', FILES, 1024);
  const runtime = await openRuntime(workspace);
  await fill(runtime, rows);
  return { workspace, runtime };
}

/** Rows like those of real reads, in groups as large as the store takes well. */
async function fill({ audit, ...runtime }: DefaultRuntime, rows: number): Promise<void> {
  await runtime.call({ tool: 'file_read', args: { path: 'file0.ts' } });
  const [row] = await audit.rows({ last: 1 });
  if (!row) throw new Error('The audit is empty after a call');
  const { seq, prev, hash, ...entry } = row;
  const group = 1_000;
  for (let done = seq; done < rows; done += group) {
    const size = Math.min(group, rows - done);
    const more = Array.from({ length: size }, (_, i) => ({
      ...entry,
      callId: `${entry.callId}x${done + i}`,
    }));
    await Promise.all(more.map((row) => audit.append(row, false)));
  }
  const { count } = await audit.head();
  if (count !== rows)
    throw new Error(`The audit has ${count} rows in place of ${rows}, after ${prev} ${hash}`);
}

const both = (round: (site: Site, sliceMs: number) => ReturnType<Contender<State>>) => ({
  [OURS]: (({ grown }, { sliceMs }) => round(grown, sliceMs)) satisfies Contender<State>,
  [PEER]: (({ young }, { sliceMs }) => round(young, sliceMs)) satisfies Contender<State>,
});

export const growth = defineSubject<State>({
  name: 'growth',
  about:
    'The same calls on a workspace whose audit has 500,000 rows (100,000 in a quick run) and on one with 1,000: reads ' +
    'and writes in process, and a whole `haft call`.',
  async open({ quick }) {
    return { grown: await openSite(quick ? GROWN_QUICK : GROWN), young: await openSite(YOUNG) };
  },
  async close({ grown, young }) {
    await Promise.all([grown.runtime.close(), young.runtime.close()]);
  },
  comparisons: [
    {
      name: 'file_read, 64 in flight',
      rounds: 11,
      contenders: both(({ runtime }, ms) =>
        drive((i) => mustCall(runtime, 'file_read', { path: `file${i % FILES}.ts` }), { inFlight: 64, ms }),
      ),
      goals: [{ figure: 'each', ratio: '<=', value: 1.2, of: PEER }],
    },
    {
      name: 'file_write, 64 in flight',
      rounds: 11,
      contenders: both(({ runtime }, ms) =>
        drive((i) => mustCall(runtime, 'file_write', { path: `file${i % FILES}.ts`, content: CONTENT }), {
          inFlight: 64,
          ms,
        }),
      ),
      goals: [{ figure: 'each', ratio: '<=', value: 1.2, of: PEER }],
    },
    {
      name: 'haft call file_read, whole process',
      rounds: 9,
      contenders: both(({ workspace }) =>
        repeat(3, () =>
          timeProcess(process.execPath, [HAFT, 'call', 'file_read', '{"path":"file0.ts"}'], workspace),
        ),
      ),
      goals: [{ figure: 'p50', ratio: '<=', value: 1.2, of: PEER }],
    },
  ],
});
