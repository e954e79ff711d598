import { describe } from 'node:test';
import { withSlurm } from '../../../scripts/engines/with-slurm.ts';
import { backendSuite } from '../../testing/backend-suite.ts';
import { slurmPlace } from './fixtures-for-tests.ts';

const slurm = withSlurm();

describe('the Slurm backend on a real cluster', { skip: slurm.skip }, () => {
  backendSuite('slurm', async () => {
    const place = slurmPlace(await slurm.engine());
    return { ...place, backend: await place.open(), reopen: () => place.open() };
  });
});
