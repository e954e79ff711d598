// Owns: `haft serve` as a test talks to it: raw bodies, raw headers, status and JSON.
// Refuses: to follow or to retry anything.
import { once } from 'node:events';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { startHaft } from './haft.ts';

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server says
export type Answer = { readonly status: number; readonly json: any };

export interface Server {
  post(path: string, body: Uint8Array | string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  close(): Promise<number | null>;
}

export async function startServer(root: string, env: Readonly<Record<string, string>> = {}): Promise<Server> {
  const child = startHaft(['serve', '--port', '0', '--json'], { cwd: root, env });
  const [line] = await once(createInterface(child.stdout), 'line');
  const { address, token } = JSON.parse(line as string);
  return {
    post(path, body, headers = {}) {
      const bytes = Buffer.from(body);
      const length = headers['transfer-encoding'] ? {} : { 'content-length': bytes.length };
      const sent = request(`${address}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, ...length, ...headers },
      });
      return new Promise((resolve, reject) => {
        let answered = false;
        // A server that has heard enough answers and hangs up, while we still send.
        sent.on('error', (error) => answered || reject(error));
        sent.once('response', async (response) => {
          answered = true;
          let text = '';
          for await (const chunk of response) text += chunk;
          sent.destroy();
          resolve({ status: response.statusCode ?? 0, json: JSON.parse(text) });
        });
        sent.end(bytes);
      });
    },
    async get(path, headers = {}) {
      const all = { authorization: `Bearer ${token}`, ...headers };
      const response = await fetch(`${address}${path}`, { headers: all });
      return { status: response.status, json: await response.json() };
    },
    async close() {
      child.kill('SIGTERM');
      const [status] = await once(child, 'close');
      return status;
    },
  };
}
