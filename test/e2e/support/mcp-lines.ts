// Owns: `haft mcp` as a test talks to it: one line, one answer, whatever the line holds.
// Refuses: to be a client: nothing is negotiated or checked.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { startHaft } from './haft.ts';

export interface McpLines {
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server says
  ask(line: Uint8Array | string): Promise<any>;
  close(): Promise<{ readonly status: number | null; readonly stderr: string }>;
}

export function startMcp(
  root: string,
  env: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): McpLines {
  const child = startHaft(['mcp', ...flags], { cwd: root, env });
  const lines = createInterface(child.stdout);
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return {
    async ask(line) {
      const answer = once(lines, 'line');
      child.stdin.write(Buffer.from(line));
      child.stdin.write('\n');
      return JSON.parse((await answer)[0] as string);
    },
    async close() {
      const closed = once(child, 'close');
      child.stdin.end();
      const [status] = await closed;
      return { status, stderr };
    },
  };
}
