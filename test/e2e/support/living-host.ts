// Owns: `haft serve` that stays while a test changes things around it: both tokens, and its log.
// Refuses: to follow or to retry anything.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { startHaft } from './haft.ts';

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server says
type Json = any;

export interface LivingHost {
  /** With the token for calls. */
  call(tool: string, args?: object): Promise<{ readonly data: Json; readonly reason: string }>;
  ask(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly json: Json }>;
  /** With the token for management. */
  manage(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly json: Json }>;
  log(): string;
  close(): Promise<void>;
}

export async function startLivingHost(root: string, args: readonly string[] = []): Promise<LivingHost> {
  const child = startHaft(['serve', '--port', '0', '--json', ...args], { cwd: root });
  let log = '';
  child.stderr.on('data', (chunk) => {
    log += chunk;
  });
  const ended = once(child, 'close');
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    ended.then(() => {
      throw new Error(`haft serve ended: ${log}`);
    }),
  ]);
  const { address, token, approval_token } = JSON.parse(line as string);
  const asker = (bearer: string) => async (method: string, path: string, body?: object) => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Json };
  };
  const ask = asker(token);
  return {
    ask,
    manage: asker(approval_token),
    async call(tool, args = {}) {
      const { json } = await ask('POST', '/v1/call', { tool, args });
      return { data: json.data, reason: json.ok ? 'ok' : json.errors[0].reason };
    },
    log: () => log,
    async close() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
