import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isFailure } from '../../contract/errors.ts';
import type { ExecutionPlan } from '../../contract/plan.ts';
import type { RunsPolicy } from '../../contract/policy.ts';
import { backendsInUse } from '../../contract/policy-match.ts';
import type { RunChoice } from '../../contract/runs.ts';
import { applyAdmit } from '../../loader/haft-yaml/apply-admit.ts';
import { choosePlace, type ImageWord } from './choose-place.ts';

const DIGEST = `sha256:${'ab'.repeat(32)}`;
const IMAGE = `registry/tools/sort@${DIGEST}`;
const resources = { cpus: 2, memoryBytes: 1000, wallMs: 1000, outputBytes: 1000 };
const plan: ExecutionPlan = { image: IMAGE, argv: ['sort'], env: {}, inputs: [], outputs: [], resources };
const bareOf = ({ image: _image, ...rest }: ExecutionPlan): ExecutionPlan => rest;
const HYBRID = { docker: plan, slurm: { ...plan, resources: { ...resources, cpus: 8 } } };

const never: ImageWord['hasTag'] = () => assert.fail('no engine is asked');
const known: ImageWord['knowsName'] = async () => true;

const choose = (
  runs: RunsPolicy | undefined,
  run: Partial<RunChoice> = {},
  hasTag = never,
  knowsName = known,
) =>
  choosePlace(
    { tool: 'sort', plan, plans: HYBRID, policy: { version: 1, ...(runs ? { runs } : {}) }, ...run },
    { hasTag, knowsName },
  );

/** The failure, with what it says would admit the run. */
async function refusal(
  runs: RunsPolicy | undefined,
  run: Partial<RunChoice> = {},
  byTag = never,
  byName = known,
) {
  const thrown = await choose(runs, run, byTag, byName).then(
    () => assert.fail('it was let through'),
    (reason) => reason,
  );
  assert.ok(isFailure(thrown), String(thrown));
  return thrown;
}

const FREE: RunsPolicy = {
  images: ['registry/*'],
  slurm: { images: [{ image: DIGEST, folder: '/images/sort' }] },
};

describe('choosePlace', () => {
  const PLACES: readonly [
    what: string,
    runs: RunsPolicy | undefined,
    run: Partial<RunChoice>,
    backend: string,
  ][] = [
    ['without a policy to this machine', undefined, {}, 'local'],
    ['to the backend of policy', { ...FREE, backend: 'docker' }, {}, 'docker'],
    ['where the caller says', { ...FREE, backends: ['docker', 'slurm'] }, { backend: 'slurm' }, 'slurm'],
    ['where a rule for the tool says', { ...FREE, rules: [{ tool: 's*', backend: 'slurm' }] }, {}, 'slurm'],
    [
      'where the first rule says',
      {
        ...FREE,
        rules: [
          { tool: 'x', backend: 'local' },
          { tool: '*', backend: 'docker' },
          { tool: 's*', backend: 'slurm' },
        ],
      },
      {},
      'docker',
    ],
    [
      'to the first that its plans are for',
      { ...FREE, backend: 'slurm', backends: ['docker'] },
      { plans: { docker: plan } },
      'docker',
    ],
    [
      'without an image past docker',
      { ...FREE, backend: 'docker', backends: ['local'] },
      { plan: bareOf(plan), plans: { docker: bareOf(plan) } },
      'local',
    ],
    ['to this machine whatever its plans are for', { backend: 'local' }, { plans: { slurm: plan } }, 'local'],
  ];
  for (const [what, runs, run, backend] of PLACES)
    it(`sends a run ${what}`, async () => assert.equal((await choose(runs, run)).backend, backend));

  it('says where else a run may go, in the order of policy, where the caller asked for no place', async () => {
    const runs: RunsPolicy = { ...FREE, backend: 'docker', backends: ['slurm', 'local'] };
    const { backend, otherwise = [], rule, why } = await choose(runs);
    assert.deepEqual([backend, rule, why], ['docker', 'runs.backends', 'runs.backends has it first']);
    assert.deepEqual(
      otherwise.map((one) => [one.backend, one.plan.resources.cpus]),
      [
        ['slurm', 8],
        ['local', 2],
      ],
    );
    assert.equal((await choose(runs, { backend: 'docker' })).otherwise, undefined);
    assert.equal((await choose({ ...runs, backend: 'local' })).otherwise, undefined);
    const denied = await choose({ ...runs, slurm: {} });
    assert.deepEqual(
      denied.otherwise?.map((one) => one.backend),
      ['local'],
    );
  });

  it('takes the plan that is written for the backend', async () => {
    const { plan: chosen } = await choose({ ...FREE, backend: 'slurm' });
    assert.equal(chosen.resources.cpus, 8);
  });

  it('holds a plan to the limits of policy, and leaves what is below them', async () => {
    const { plan: held } = await choose({ limits: { cpus: 1, memory_bytes: 10 ** 9 } });
    assert.deepEqual(held.resources, { ...resources, cpus: 1 });
  });

  const GRANTS: readonly [what: string, runs: RunsPolicy, run: Partial<RunChoice>][] = [
    ['a backend that policy does not grant', { ...FREE, backend: 'local' }, { backend: 'docker' }],
    [
      'a backend that the rule for the tool does not grant',
      { ...FREE, rules: [{ tool: 's*', backend: 'local' }] },
      { backend: 'docker' },
    ],
    [
      'a tool whose plans are for no backend of policy',
      { ...FREE, backend: 'slurm' },
      { plans: { docker: plan } },
    ],
    ['an image that policy does not name', { backend: 'docker' }, {}],
    [
      'an image that is for other tools',
      { backend: 'docker', images: [{ image: 'registry/*', tools: ['x'] }] },
      {},
    ],
    [
      'a partition that policy does not list',
      { ...FREE, backend: 'slurm' },
      { placement: { partition: 'long' } },
    ],
    [
      'an account beside those that policy lists',
      { ...FREE, backend: 'slurm', slurm: { ...FREE.slurm, accounts: ['mine'] } },
      { placement: { account: 'yours' } },
    ],
  ];
  for (const [what, runs, run] of GRANTS)
    it(`refuses ${what}, and its line of policy admits it`, async () => {
      const { reason, details } = await refusal(runs, run);
      assert.equal(reason, 'policy.denied');
      const { parse } = await import('yaml');
      const text = await applyAdmit(JSON.stringify({ version: 1, runs }), String(details?.admit));
      await choose(parse(text).runs, run);
    });

  const REFUSED: readonly [what: string, runs: RunsPolicy, run: Partial<RunChoice>, reason: string][] = [
    ['a backend that there is not', FREE, { backend: 'moon' }, 'usage'],
    [
      'a backend that its plans are not for',
      { ...FREE, backends: ['slurm'] },
      { plans: { docker: plan }, backend: 'slurm' },
      'usage',
    ],
    [
      'docker for a plan without an image',
      { ...FREE, backends: ['docker'] },
      { plans: { docker: bareOf(plan) }, backend: 'docker' },
      'usage',
    ],
    ['a partition of what has none', FREE, { placement: { partition: 'long' } }, 'usage'],
    ['an image that no node has', { backend: 'slurm', images: ['registry/*'] }, {}, 'policy.denied'],
  ];
  for (const [what, runs, run, reason] of REFUSED)
    it(`refuses ${what}`, async () => assert.equal((await refusal(runs, run)).reason, reason));

  it('asks an engine about tags only where no entry has the digest or the name', async () => {
    const bare = { plan: { ...plan, image: DIGEST }, plans: { docker: { ...plan, image: DIGEST } } };
    const runs: RunsPolicy = { backend: 'docker', images: ['tools/sort:1'] };
    await choose({ ...runs, images: [DIGEST] }, bare);
    await choose(runs, bare, async (tags) => tags.includes('tools/sort:1'));
    await refusal(runs, bare, async () => false);
    await choose(runs, {}, async (tags, image) => tags.includes('tools/sort:1') && image === IMAGE);
    await refusal({ ...runs, images: ['tools/*'] });
    const id = `sha256:${'cd'.repeat(32)}`;
    await choose(
      { ...runs, images: [id] },
      {},
      async (names, image) => names.includes(id) && image === IMAGE,
    );
  });

  it('admits by a repository what the engine has under that name, and not what only the plan calls so', async () => {
    const asked: string[] = [];
    const knows = (answer: boolean | undefined) => async (backend: string, image: string) => {
      asked.push(`${backend} ${image}`);
      return answer;
    };
    for (const entry of ['registry/tools/sort', 'registry/*']) {
      const images = [{ image: DIGEST, tools: ['other'] }, entry];
      const runs: RunsPolicy = { backend: 'docker', images };
      await choose(runs, {}, never, knows(true));
      // Nothing is executed there: an earlier result is answered, and a start asks again.
      await choose(runs, {}, never, knows(undefined));
      const { reason, message, details } = await refusal(runs, {}, never, knows(false));
      assert.deepEqual([reason, details?.rule, details?.image], ['policy.denied', 'runs.images', IMAGE]);
      assert.match(message, /does not have that digest under that name; admit the digest, or pull/);
      await choose({ ...runs, images: [...images, DIGEST] }, {}, never, knows(false));
    }
    assert.deepEqual(new Set(asked), new Set([`docker ${IMAGE}`]));
    assert.equal((await choose({ images: ['registry/*'] }, {}, never, knows(false))).backend, 'local');
  });

  it('takes the name that runs.slurm.images has beside a digest for the word of the nodes', async () => {
    const on = (image: string): RunsPolicy => ({
      backend: 'slurm',
      images: ['registry/*'],
      slurm: { images: [{ image, folder: '/images/sort' }] },
    });
    for (const image of [DIGEST, IMAGE, `docker.io/${IMAGE}`]) await choose(on(image));
    const { reason } = await refusal(on(`evil.example.org/x@${DIGEST}`));
    assert.equal(reason, 'policy.denied');
    await choose({ ...on(`evil.example.org/x@${DIGEST}`), images: [DIGEST] });
  });

  it('lets a caller place a job among what policy lists', async () => {
    const slurm = { ...FREE.slurm, partitions: ['short', 'long'] };
    const { placement } = await choose(
      { ...FREE, backend: 'slurm', slurm },
      { placement: { partition: 'long' } },
    );
    assert.deepEqual(placement, { partition: 'long' });
  });
});

describe('backendsInUse', () => {
  it('are all that some tool may be sent to', () => {
    assert.deepEqual(backendsInUse(undefined), ['local']);
    const rules = [{ tool: 'x', backend: 'docker', backends: ['slurm'] } as const];
    assert.deepEqual(backendsInUse({ backend: 'local', rules }), ['local', 'docker', 'slurm']);
  });
});
