// Owns: what governing costs a sandboxed command, against the very sandbox, bare; and that a big host costs nothing more.
// Refuses: commands that do something: what is left is the way there and back.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { type BareBwrap, bareBwrap } from '../bare-bwrap.ts';
import { drive, repeat } from '../drive.ts';
import { makeWorkspace } from '../fixtures.ts';
import { type Contender, defineSubject } from '../measure.ts';
import { mustCall, openRuntime } from '../product.ts';

interface State {
  readonly runtime: DefaultRuntime;
  readonly bare: BareBwrap;
}

const GIB = 2 ** 30;

const governed = ({ runtime }: State) => mustCall(runtime, 'shell_exec', { cmd: 'true' });
const bare = (state: State) => state.bare(['true']);

const inFlight =
  (count: number, call: (state: State) => Promise<unknown>): Contender<State> =>
  (state, { sliceMs }) =>
    drive(() => call(state), { inFlight: count, ms: sliceMs });

/** As somebody calls who looks at an answer before asking for the next. */
const apart =
  (call: (state: State) => Promise<unknown>): Contender<State> =>
  (state, { sliceMs }) =>
    repeat(sliceMs / 25, async () => {
      await pause(20);
      const start = performance.now();
      await call(state);
      return performance.now() - start;
    });

/** The same round, while this process holds a GiB more. */
const burdened =
  (contender: Contender<State>): Contender<State> =>
  async (state, scale) => {
    const burden = Buffer.alloc(GIB, 1);
    assert.ok(process.memoryUsage.rss() > GIB);
    const figures = await contender(state, scale);
    assert.equal(burden[0], 1);
    return figures;
  };

const BARE = 'bwrap … true';

export const shellExec = defineSubject<State>({
  name: 'shell-exec',
  about:
    '`shell_exec` of `true` in process: taken apart, asked of policy, run by bash in the sandbox, looked at from outside before it begins, ' +
    'its intent and outcome durable; against a bare `bwrap … true` with the same words, started directly. A sandbox is laid out for the next ' +
    'command while nothing runs, which counts in full only where there is a moment between two. And the same while the host holds 1 GiB more.',
  async open() {
    const workspace = makeWorkspace();
    writeTrusted(join(workspace, 'haft.yaml'), "version: 1\nshell_allow: ['^true$', '^sleep 2$']\n");
    const runtime = await openRuntime(workspace);
    const { code } = (await mustCall(runtime, 'shell_exec', { cmd: 'true' })) as { code: number };
    assert.equal(code, 0);
    return { runtime, bare: await bareBwrap(runtime, workspace) };
  },
  close: ({ runtime }) => runtime.close(),
  comparisons: [
    {
      name: 'true, one at a time',
      rounds: 15,
      contenders: { 'haft shell_exec': inFlight(1, governed), [BARE]: inFlight(1, bare) },
      goals: [{ figure: 'p50', ratio: '<=', value: 1.3, of: BARE }],
    },
    {
      name: 'true, 20 ms after the last',
      rounds: 9,
      contenders: { 'haft shell_exec': apart(governed), [BARE]: apart(bare) },
      goals: [],
      also: [{ figure: 'p50', of: BARE }],
    },
    {
      name: 'true, 16 in flight',
      rounds: 9,
      contenders: { 'haft shell_exec': inFlight(16, governed), [BARE]: inFlight(16, bare) },
      goals: [],
      also: [{ figure: 'rate', of: BARE }],
    },
    {
      name: 'true, with 1 GiB resident',
      rounds: 9,
      contenders: {
        'haft shell_exec': burdened(inFlight(1, governed)),
        'the same without': inFlight(1, governed),
        [`${BARE}, with 1 GiB`]: burdened(inFlight(1, bare)),
      },
      goals: [{ figure: 'p50', ratio: '<=', value: 1.1, of: 'the same without' }],
      also: [{ figure: 'p50', of: `${BARE}, with 1 GiB` }],
    },
  ],
});
