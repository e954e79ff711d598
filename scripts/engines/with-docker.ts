// Owns: what makes a private Docker engine one for tests.
// Refuses: to start or stop it; engine-for-tests decides when.
import { type DockerEngine, dockerUnavailable, startDocker, stopDocker } from './docker.ts';
import { type EngineForTests, engineForTests } from './engine-for-tests.ts';

/** Call it while a test file loads. */
export const withDocker = (): EngineForTests<DockerEngine> =>
  engineForTests({
    prefix: 'haft-docker-',
    unavailable: dockerUnavailable,
    start: startDocker,
    stop: stopDocker,
  });
