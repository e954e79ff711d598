// Owns: what governing costs an HTTP request, against the client that sends it, bare.
// Refuses: a server in the measuring process: it would weigh on both sides and hide the difference.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { drive } from '../drive.ts';
import { makeWorkspace } from '../fixtures.ts';
import { defineSubject } from '../measure.ts';
import { timedEnvironment } from '../processes.ts';
import { mustCall, openRuntime, ROOT } from '../product.ts';

interface State {
  readonly server: ChildProcess;
  readonly url: string;
  readonly runtime: DefaultRuntime;
  readonly agent: Agent;
}

const BARE = 'undici';

const governed = ({ runtime, url }: State) =>
  mustCall(runtime, 'curl', { url }) as Promise<{ status: number; body_b64: string }>;

/** As the tool answers: status, headers and the body in base64. */
const bare = async ({ url, agent }: State) => {
  const { statusCode, headers, body } = await request(url, { dispatcher: agent });
  return {
    status: statusCode,
    headers,
    body_b64: Buffer.from(await body.arrayBuffer()).toString('base64'),
  };
};

export const curl = defineSubject<State>({
  name: 'curl',
  about:
    '`curl` in process of a server on loopback that policy names (1 KiB, kept connections, the server in a process of its own): ' +
    'asked of policy, its address checked, credentials taken out of the answer, recorded; against `request` of bare undici.',
  async open() {
    const server = spawn(process.execPath, [join(ROOT, 'bench/peers/http-server.mjs')], {
      env: timedEnvironment(),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = await once(server.stdout, 'data');
    const host = `127.0.0.1:${String(line).trim()}`;
    const workspace = makeWorkspace();
    writeTrusted(
      join(workspace, 'haft.yaml'),
      `version: 1\nnetwork:\n  allowed_domains:\n    - {domain: '${host}', private: true}\n`,
    );
    const state = {
      server,
      url: `http://${host}/`,
      runtime: await openRuntime(workspace),
      agent: new Agent(),
    };
    const [ours, theirs] = [await governed(state), await bare(state)];
    assert.deepEqual([ours.status, ours.body_b64], [theirs.status, theirs.body_b64]);
    return state;
  },
  async close({ server, runtime, agent }) {
    await Promise.all([runtime.close(), agent.close()]);
    server.stdin!.end();
    await once(server, 'close');
  },
  comparisons: [
    {
      name: '1 KiB, one at a time',
      rounds: 15,
      contenders: {
        'haft curl': (state, { sliceMs }) => drive(() => governed(state), { inFlight: 1, ms: sliceMs }),
        [BARE]: (state, { sliceMs }) => drive(() => bare(state), { inFlight: 1, ms: sliceMs }),
      },
      goals: [{ figure: 'p50', ratio: '<=', value: 1.3, of: BARE }],
    },
    {
      name: '1 KiB, 16 in flight',
      rounds: 9,
      contenders: {
        'haft curl': (state, { sliceMs }) => drive(() => governed(state), { inFlight: 16, ms: sliceMs }),
        [BARE]: (state, { sliceMs }) => drive(() => bare(state), { inFlight: 16, ms: sliceMs }),
      },
      goals: [],
      also: [{ figure: 'rate', of: BARE }],
    },
  ],
});
