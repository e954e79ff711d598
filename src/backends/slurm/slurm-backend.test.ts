import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withSlurm } from '../../../scripts/engines/with-slurm.ts';
import { backendSuite } from '../../testing/backend-suite.ts';
import { slurmPlace } from './fixtures-for-tests.ts';
import { createSubmitter } from './slurm-backend.ts';
import type { Submission } from './slurm-client.ts';

const slurm = withSlurm();

describe('the Slurm backend on a real cluster', { skip: slurm.skip }, () => {
  backendSuite('slurm', async () => {
    const place = slurmPlace(await slurm.engine());
    return { ...place, backend: await place.open(), reopen: () => place.open() };
  });
});

const WAIT: Submission = { kind: 'wait', words: 'enough' };
const DONE: Submission = { kind: 'submitted', id: '1' };

function setUp(answers: (Submission | Error)[]) {
  const state = { now: 0, asked: 0, alerts: [] as string[] };
  const submit = createSubmitter({
    client: {
      async submit() {
        state.asked++;
        const answer = answers.shift() ?? DONE;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    alert: (message) => state.alerts.push(message),
    now: () => state.now,
  });
  return { state, submit: () => submit([], '') };
}

describe('createSubmitter', () => {
  it('asks nobody while the cluster takes no more, then lets one through to try', async () => {
    const { state, submit } = setUp([WAIT, WAIT, DONE]);
    assert.equal((await submit()).kind, 'wait');
    for (let n = 0; n < 10; n++) assert.equal((await submit()).kind, 'wait');
    assert.equal(state.asked, 1);
    state.now = 1_000;
    const [first, second] = await Promise.all([submit(), submit()]);
    assert.deepEqual([first.kind, second.kind, state.asked], ['wait', 'wait', 2]);
    state.now = 2_500;
    assert.equal((await submit()).kind, 'wait', 'the second pause is longer');
    state.now = 3_000;
    assert.equal((await submit()).kind, 'submitted');
    assert.equal((await submit()).kind, 'submitted');
    assert.equal(state.alerts.length, 1);
  });

  it('runs only a few at once', async () => {
    let running = 0;
    let most = 0;
    const submit = createSubmitter({
      client: {
        async submit() {
          most = Math.max(most, ++running);
          await new Promise((done) => setImmediate(done));
          running--;
          return DONE;
        },
      },
      alert: () => {},
      concurrency: 3,
    });
    await Promise.all(Array.from({ length: 20 }, () => submit([], '')));
    assert.equal(most, 3);
  });

  it('gives up where there is no sbatch, and does not where it was killed', async () => {
    const missing = new Error('sbatch cannot be run', { cause: { code: 'ENOENT' } });
    const { submit } = setUp([missing, new Error('sbatch was ended by SIGKILL')]);
    assert.equal((await submit()).kind, 'refused');
    assert.equal((await submit()).kind, 'unknown');
  });
});
