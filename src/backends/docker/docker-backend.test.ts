import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { withDocker } from '../../../scripts/engines/with-docker.ts';
import { newId } from '../../base/new-id.ts';
import type { Backend } from '../../contract/backend.ts';
import { type BackendEnvironment, backendSuite } from '../../testing/backend-suite.ts';
import { createDockerBackend, type DockerOptions } from './docker-backend.ts';

const docker = withDocker();

async function openEnvironment(options: Partial<DockerOptions> = {}): Promise<BackendEnvironment> {
  const { socket, images } = await docker.engine();
  const root = mkdtempSync(join(tmpdir(), 'haft-docker-test-'));
  const scope = newId('scope');
  const opened: Backend[] = [];
  const reopen = () => {
    const backend = createDockerBackend({ socket, scope, images: [images.busybox], ...options });
    opened.push(backend);
    return backend;
  };
  return {
    backend: reopen(),
    reopen: async () => reopen(),
    root,
    image: images.busybox,
    async close() {
      await opened[0]!.reap(async () => false);
      await Promise.all(opened.map((backend) => backend.close()));
      rmSync(root, { recursive: true });
    },
  };
}

describe('the docker backend', { skip: docker.skip }, () => {
  backendSuite('it', openEnvironment);
});
