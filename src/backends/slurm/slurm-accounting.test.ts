import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../scripts/engines/private-daemon.ts';
import type { SlurmCluster } from '../../../scripts/engines/slurm.ts';
import { withSlurm } from '../../../scripts/engines/with-slurm.ts';
import type { AttemptEnd } from '../../contract/backend.ts';
import { makeAttempt } from '../../testing/backend-suite.ts';
import { slurmPlace } from './fixtures-for-tests.ts';

/** Slurm forgets a job as soon as it may. */
const FORGETFUL = { MinJobAge: '2' };
const without = withSlurm({ settings: FORGETFUL });
const accounted = withSlurm({
  accounting: true,
  settings: { ...FORGETFUL, AccountingStorageEnforce: 'limits,qos' },
});

const never = () => new AbortController().signal;

describe('an attempt whose job was killed and forgotten while nobody looked', {
  skip: accounted.skip,
}, () => {
  it('is lost where Slurm keeps no accounting', async () => {
    const end = await forgotten(await without.engine());
    assert.deepEqual([end.status, end.cause], ['lost', 'lost'], end.message);
  });
  it('has the cause that Slurm recorded where it keeps accounting', async () => {
    const end = await forgotten(await accounted.engine());
    assert.deepEqual([end.status, end.cause], ['failed', 'infrastructure.engine'], end.message);
  });
});

describe('a cluster that takes no more than two jobs of a user', { skip: accounted.skip }, () => {
  it('makes attempts wait, and none of them fail', async () => {
    const cluster = await accounted.engine();
    cluster.command('sacctmgr', '-i', 'modify', 'qos', 'normal', 'set', 'MaxSubmitJobsPerUser=2');
    const place = slurmPlace(cluster);
    const alerts: string[] = [];
    try {
      const backend = await place.open({ alert: (message) => alerts.push(message), settleMs: 500 });
      const attempts = await Promise.all(
        Array.from({ length: 5 }, (_, n) => makeAttempt(place, `echo ${n} >> out/n`, { outputs: ['n'] })),
      );
      const handles = await Promise.all(attempts.map((attempt) => backend.start(attempt)));
      const ends = await Promise.all(handles.map((handle) => handle.wait(never())));
      assert.deepEqual(
        ends.map((end) => end.status),
        attempts.map(() => 'succeeded'),
      );
      assert.match(alerts.join('\n'), /takes no more jobs for now: .*QOSMaxSubmitJobPerUserLimit/);
    } finally {
      cluster.command('sacctmgr', '-i', 'modify', 'qos', 'normal', 'set', 'MaxSubmitJobsPerUser=-1');
      await place.close();
    }
  });
});

/** The script is killed, so that it leaves no word. */
async function forgotten(cluster: SlurmCluster): Promise<AttemptEnd> {
  const place = slurmPlace(cluster);
  try {
    const attempt = await makeAttempt(place, 'echo begun; sleep 1000');
    const handle = await (await place.open()).start(attempt);
    const begun = Promise.withResolvers<void>();
    const stop = handle.follow(() => begun.resolve());
    await begun.promise;
    stop();
    const queue = () => cluster.command('squeue', '--noheader', '--states=all', '--format=%i').trim();
    const job = queue();
    cluster.command('scancel', '--batch', '--signal=KILL', job);
    assert.ok(await until(() => queue() === '', 60_000), 'Slurm does not forget');
    const found = await (await place.open({ settleMs: 1_000 })).find(attempt);
    return await found!.wait(never());
  } finally {
    await place.close();
  }
}
