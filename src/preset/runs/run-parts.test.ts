import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Backend } from '../../contract/backend.ts';
import type { RunsPolicy } from '../../contract/policy.ts';
import type { Variables } from '../../contract/run-environment.ts';
import { imageEnvFinder } from './run-parts.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const IMAGE = `registry.example.org/tools/sort@${DIGEST}`;

describe('imageEnvFinder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'haft-image-env-'));
  after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'sort.env'), 'PATH=/opt/bin\nEMPTY=\nTWICE=1\nTWICE=a=b\n');
  writeFileSync(join(folder, 'spoilt.env'), 'PATH=/opt/bin\nwhat is this\n');
  const unpacked = (name: string): RunsPolicy => ({
    backends: ['slurm'],
    slurm: { images: [{ image: DIGEST, folder: `${join(folder, name)}/` }] },
  });
  const find = (runs: RunsPolicy, said?: Variables) =>
    imageEnvFinder(
      () => [{ name: 'docker', imageEnv: async () => said } as unknown as Backend],
      () => runs,
    )(IMAGE);

  it('reads it beside the folder of the image, else asks the engine that runs may go to', async () => {
    assert.deepEqual(await find(unpacked('sort')), { PATH: '/opt/bin', EMPTY: '', TWICE: 'a=b' });
    assert.deepEqual(await find({ backend: 'docker' }, { OWN: '1' }), { OWN: '1' });
    assert.deepEqual(await find({ ...unpacked('none'), backend: 'docker' }, { OWN: '1' }), { OWN: '1' });
  });

  it('answers none where runs go nowhere but to this machine', async () => {
    assert.equal(await find({}), undefined);
    assert.equal(await find({ backend: 'local' }, { OWN: '1' }), undefined);
  });

  it('refuses where the image could run elsewhere and nobody knows it', async () => {
    for (const runs of [{ backend: 'docker' } as const, unpacked('none'), unpacked('spoilt')])
      await assert.rejects(find(runs), { reason: 'run.infrastructure', message: /its ENV/ });
  });
});
