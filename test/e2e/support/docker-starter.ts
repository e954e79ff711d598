// Owns: a process that starts one attempt on an engine and waits for its end, to be killed on the way.
// Refuses: to say goodbye. usage: docker-starter.ts '{"socket", "scope", "attempt"}'

import { createDockerBackend } from '../../../src/backends/docker/docker-backend.ts';
import type { Attempt } from '../../../src/contract/backend.ts';

const { socket, scope, attempt } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly socket: string;
  readonly scope: string;
  readonly attempt: Attempt;
};
const backend = createDockerBackend({ socket, scope, images: [attempt.plan.image ?? ''] });
// Loads what is loaded late, so that the moments after this line are those of the engine.
await backend.find(attempt);
console.log('ready');
const handle = await backend.start(attempt);
console.log('started');
console.log((await handle.wait(new AbortController().signal)).status);
await backend.close();
