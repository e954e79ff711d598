// Owns: what makes a private Podman one for tests.
// Refuses: to start or stop it; engine-for-tests decides when.
import { type EngineForTests, engineForTests } from './engine-for-tests.ts';
import { type PodmanEngine, podmanUnavailable, startPodman, stopPodman } from './podman.ts';

/** Call it while a test file loads. */
export const withPodman = (): EngineForTests<PodmanEngine> =>
  engineForTests({
    prefix: 'haft-podman-',
    unavailable: podmanUnavailable,
    start: startPodman,
    stop: stopPodman,
  });
