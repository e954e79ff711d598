import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { until } from '../../../scripts/engines/private-daemon.ts';
import type { SlurmCluster } from '../../../scripts/engines/slurm.ts';
import { withSlurm } from '../../../scripts/engines/with-slurm.ts';
import type { AttemptCause, FailureClass } from '../../contract/attempt-cause.ts';
import type { Attempt, AttemptEnd, BackendHandle } from '../../contract/backend.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import { slurmPlace } from './fixtures-for-tests.ts';
import type { SlurmPolicy } from './slurm-backend.ts';

const slurm = withSlurm();
const never = () => new AbortController().signal;

interface Situation {
  readonly cluster: SlurmCluster;
  readonly handle: BackendHandle;
  /** The id of the attempt's job in Slurm. */
  readonly job: string;
  readonly node: string;
}

interface EndCase {
  readonly policy?: SlurmPolicy;
  /** Runs until it is ended; with `begun: false` its job never starts. */
  readonly begun?: false;
  readonly resources?: { readonly memoryBytes: number };
  /** What happens to it. */
  act(situation: Situation): Promise<void> | void;
  /** What has to be put right for the next case. */
  after?(situation: Situation): Promise<void>;
  readonly ends: readonly [FailureClass, AttemptCause, RegExp];
}

/** Ends well when it is told to, as if it had done all that it should. */
const OBEDIENT = 'trap "echo whole > out/a; exit 0" TERM; echo begun; while :; do sleep 0.05; done';

const CASES: Readonly<Record<string, EndCase>> = {
  "runs into Slurm's time limit": {
    act: ({ cluster, job }) => void cluster.command('scontrol', 'update', `JobId=${job}`, 'EndTime=now'),
    ends: ['limit', 'limit.time', /reached the time limit.*TIMEOUT/],
  },
  'is cancelled by somebody else while it runs': {
    act: ({ cluster, job }) => void cluster.command('scancel', job),
    ends: ['cancelled', 'cancelled', /was cancelled.*CANCELLED/],
  },
  'is cancelled by somebody else while it waits': {
    policy: { partition: 'closed' },
    begun: false,
    act: ({ cluster, job }) => void cluster.command('scancel', job),
    ends: ['cancelled', 'cancelled', /was cancelled.*CANCELLED/],
  },
  'is cancelled by its caller while it waits': {
    policy: { partition: 'closed' },
    begun: false,
    act: ({ handle }) => handle.cancel(),
    ends: ['cancelled', 'cancelled', /^Cancelled the attempt$/],
  },
  'is cancelled by its caller while it runs': {
    act: ({ handle }) => handle.cancel(),
    ends: ['cancelled', 'cancelled', /^Cancelled the attempt$/],
  },
  'has its script killed': {
    act: ({ cluster, job }) => void cluster.command('scancel', '--batch', '--signal=KILL', job),
    ends: ['infrastructure', 'infrastructure.engine', /failed before it could leave a result/],
  },
  'is told to end by a signal from nobody known': {
    act: ({ cluster, job }) => void cluster.command('scancel', '--batch', '--signal=TERM', job),
    ends: ['infrastructure', 'infrastructure.killed', /told its job to end/],
  },
  'loses its node': {
    act: ({ cluster, node }) =>
      void cluster.command('scontrol', 'update', `NodeName=${node}`, 'State=DOWN', 'Reason=test'),
    after: async ({ cluster, node }) => {
      const state = () => cluster.command('sinfo', '-h', '-p', 'main', '-n', node, '-o', '%T').trim();
      if (state().startsWith('down'))
        cluster.command('scontrol', 'update', `NodeName=${node}`, 'State=RESUME');
      assert.ok(await until(() => state() === 'idle', 20_000), `${node} does not come back`);
    },
    ends: ['infrastructure', 'infrastructure.node', /node that its job ran on failed.*NODE_FAIL/],
  },
  'has to make room': {
    policy: { partition: 'spot' },
    act: ({ cluster }) =>
      void cluster.command(
        'sbatch',
        '--partition=urgent',
        '--exclusive',
        '--output=/dev/null',
        '--wrap=true',
      ),
    ends: ['infrastructure', 'infrastructure.preempted', /more urgent.*PREEMPTED/],
  },
  'is put back into the queue': {
    act: ({ cluster, job }) => {
      cluster.command('scontrol', 'update', `JobId=${job}`, 'Requeue=1');
      cluster.command('scontrol', 'requeue', job);
    },
    ends: ['infrastructure', 'infrastructure.requeued', /back into the queue/],
  },
  'names a partition that is not there': {
    policy: { partition: 'nowhere' },
    begun: false,
    act: () => {},
    ends: ['infrastructure', 'infrastructure.engine', /Cannot submit.*invalid partition/],
  },
  'asks for more than the cluster has': {
    resources: { memoryBytes: 2 ** 40 },
    begun: false,
    act: () => {},
    ends: ['limit', 'limit.resources', /Cannot submit.*node configuration is not available/],
  },
};

describe('an attempt that ends badly on a real cluster', { skip: slurm.skip }, () => {
  for (const [what, one] of Object.entries(CASES)) {
    it(`and ${what} has the right cause, once and for all, and the next attempt succeeds`, async () => {
      const cluster = await slurm.engine();
      const place = slurmPlace(cluster);
      try {
        const backend = await place.open(one.policy ? { policy: one.policy } : {});
        const attempt = await makeAttempt(place, OBEDIENT, {
          outputs: ['a'],
          resources: one.resources ?? {},
        });
        const handle = await backend.start(attempt);
        const ending = handle.wait(never());
        const situation = await situate(cluster, handle, attempt, one.begun !== false);
        await one.act(situation);
        const end = await ending;
        const [failure, cause, message] = one.ends;
        assert.deepEqual([end.failure, end.cause], [failure, cause], end.message);
        assert.match(end.message, message);
        await isFinal(place, attempt, end);
        await one.after?.(situation);
        const next = await (await place.open()).start(
          await makeAttempt(place, 'echo > out/a', { outputs: ['a'] }),
        );
        assert.equal((await next.wait(never())).status, 'succeeded');
      } finally {
        await place.close();
      }
    });
  }
});

/** Waits until the job is there and, where it should, has begun. */
async function situate(
  cluster: SlurmCluster,
  handle: BackendHandle,
  { id, folder }: Attempt,
  begun: boolean,
): Promise<Situation> {
  if (begun) {
    const said = Promise.withResolvers<void>();
    const stop = handle.follow(() => said.resolve());
    await said.promise;
    stop();
  }
  const rows = cluster.command('squeue', '--noheader', '--states=all', '--format=%k|%i').split('\n');
  const job = rows.find((row) => row.startsWith(`${id}|`))?.slice(id.length + 1) ?? '';
  const claim = begun ? JSON.parse(readFileSync(join(folder, 'meta/claim'), 'utf8')) : { node: '' };
  return { cluster, handle, job, node: claim.node };
}

/** Nothing that comes later changes it, and nothing of it runs any more. */
async function isFinal(
  place: ReturnType<typeof slurmPlace>,
  attempt: Attempt,
  end: AttemptEnd,
): Promise<void> {
  const found = await (await place.open()).find(attempt);
  assert.deepEqual(await found?.wait(never()), end);
  const started = await (await place.open()).start(attempt);
  assert.deepEqual(await started.wait(never()), end);
  assert.ok(existsSync(join(attempt.folder, 'meta/claim')), 'a late job could still execute it');
  assert.equal(spawned(attempt), 0);
}

function spawned(attempt: Attempt): number {
  const all = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  return all.split('\n').filter((line) => line.includes(attempt.folder)).length;
}
