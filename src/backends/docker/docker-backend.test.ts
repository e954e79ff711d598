import { describe } from 'node:test';
import { withDocker } from '../../../scripts/engines/with-docker.ts';
import { backendSuite } from '../../testing/backend-suite.ts';
import { openDocker } from './docker-for-tests.ts';

const docker = withDocker();

describe('the docker backend', { skip: docker.skip }, () => {
  backendSuite('it', async () => openDocker(await docker.engine()));
});
