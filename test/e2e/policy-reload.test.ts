// Owns: the proof that a long-lived host takes a new policy over whole, and keeps the old one when the new one is bad.
// Refuses: a restart.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startHaft } from './support/haft.ts';
import { makeWorkspace } from './support/workspace.ts';

const DENIES = 'version: 1\npaths:\n  rules:\n    - { path: "a.txt", read: deny }\n';
const BROKEN = 'version: 1\npathz: {}\n';

describe('haft serve and its haft.yaml', () => {
  it('takes a good file over and keeps the policy from before for a bad one', async () => {
    const workspace = makeWorkspace({ 'a.txt': 'hello\n' });
    const child = startHaft(['serve', '--port', '0', '--json'], { cwd: workspace.root });
    const log = listen(child.stderr);
    try {
      const { address, token } = JSON.parse(await listen(child.stdout).until(/^(.*)\n/));
      const read = async () => {
        const response = await fetch(`${address}/v1/call`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
          body: JSON.stringify({ tool: 'file_read', args: { path: 'a.txt' } }),
        });
        return ((await response.json()) as { errors: { reason: string }[] }).errors[0]?.reason ?? 'ok';
      };
      assert.equal(await read(), 'ok');
      replace(workspace.path('haft.yaml'), DENIES);
      await log.until(/(was read again)/);
      assert.equal(await read(), 'policy.denied');
      replace(workspace.path('haft.yaml'), BROKEN);
      await log.until(/(policy from before stays)/);
      assert.match(log.text(), /haft\.yaml:2:1: error key\.unknown.*pathz[\s\S]*did you mean|paths/);
      assert.equal(await read(), 'policy.denied');
    } finally {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('close', resolve));
      workspace.remove();
    }
  });
});

/** As editors do: the file is never seen half written. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

function listen(stream: NodeJS.ReadableStream) {
  let text = '';
  const waiting = new Set<() => void>();
  stream.on('data', (chunk) => {
    text += chunk;
    for (const look of waiting) look();
  });
  return {
    text: () => text,
    until: (pattern: RegExp) =>
      new Promise<string>((resolve) => {
        const look = () => {
          const found = pattern.exec(text)?.[1];
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}
