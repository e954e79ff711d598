// Owns: the proof that `kill -9` around creating and starting a container executes no attempt twice and loses none.
// Refuses: gentle ends, and a proof by moments that are all alike.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import { openDocker } from '../../src/backends/docker/docker-for-tests.ts';
import { makeAttempt } from '../../src/testing/backend-suite.ts';
import { amount } from './support/amount.ts';

const docker = withDocker();
const STARTER = join(import.meta.dirname, 'support/docker-starter.ts');
const KILLS = amount('HAFT_DOCKER_KILLS', 200, 8);
/** Longer than an engine takes from being asked to create to having ended a short program. */
const SPAN_MS = 400;

describe('kill -9 around the start of containers', { skip: docker.skip }, () => {
  it(`executes every attempt once over ${KILLS} kills`, { timeout: 1_800_000 }, async (t) => {
    const engine = await docker.engine();
    const env = await openDocker(engine);
    t.after(env.close);
    const moments = new Map<string, number>();
    for (let n = 0; n < KILLS; n++) {
      const attempt = await makeAttempt(env, 'echo began >> out/count', { outputs: ['count'] });
      const said = await killedStarter(
        { socket: engine.socket, scope: env.scope, attempt },
        spread(n) * SPAN_MS,
      );
      const later = await env.reopen();
      const found = await later.find(attempt);
      const moment = `${said || 'nothing'}, ${found ? 'found' : 'never got there'}`;
      moments.set(moment, (moments.get(moment) ?? 0) + 1);
      const handle = found ?? (await later.start(attempt));
      const end = await handle.wait(AbortSignal.timeout(120_000));
      assert.equal(end.status, 'succeeded', `after ${moment}: ${end.message}`);
      assert.equal(readFileSync(join(attempt.folder, 'out/count'), 'utf8'), 'began\n', `after ${moment}`);
      await later.close();
    }
    t.diagnostic(JSON.stringify(Object.fromEntries(moments)));
    assert.ok(moments.size > 1, 'every kill hit the same moment: the test proves nothing');
    // Those that were killed between recording an end and removing its container leave it to the next start-up.
    await env.backend.reap(async () => false);
    assert.equal(engine.docker('ps', '-aq'), '');
  });
});

/** Kills a starter some time after it is ready, and answers the last word that it said after that. */
function killedStarter(request: object, afterMs: number): Promise<string> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', STARTER, JSON.stringify(request)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let text = '';
  child.stdout.on('data', (chunk) => {
    if (text === '') setTimeout(() => child.kill('SIGKILL'), afterMs);
    text += chunk;
  });
  return new Promise((resolve) => {
    child.once('close', () => resolve(text.trim().split('\n').slice(1).at(-1) ?? ''));
  });
}

/** Even over the span, in no order. */
const spread = (n: number) => (n * 0.618_033_988_749_895) % 1;
