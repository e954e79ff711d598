// Owns: the proof that a long-lived host takes a new policy over whole, and keeps the old one when the new one is bad.
// Refuses: a restart.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { sha256Hex } from '../../src/base/digest.ts';
import { cli } from './support/cli.ts';
import { startHaft } from './support/haft.ts';
import { makeWorkspace } from './support/workspace.ts';

const DENIES = 'version: 1\npaths:\n  rules:\n    - { path: "a.txt", read: deny }\n';
const WIDENS = 'version: 1\n';
const BROKEN = 'version: 1\npathz: {}\n';

describe('haft serve and its haft.yaml', () => {
  it('takes a good file over once it is trusted, and keeps the policy from before for a bad or a wider one', async () => {
    const workspace = makeWorkspace({ 'a.txt': 'hello\n' });
    const child = startHaft(['serve', '--port', '0', '--json'], { cwd: workspace.root });
    const log = listen(child.stderr);
    try {
      const { address, token } = JSON.parse(await listen(child.stdout).until(/^(.*)\n/));
      const call = async (tool: string, args: object) => {
        const response = await fetch(`${address}/v1/call`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
          body: JSON.stringify({ tool, args }),
        });
        return ((await response.json()) as { errors: { reason: string }[] }).errors[0]?.reason ?? 'ok';
      };
      const read = () => call('file_read', { path: 'a.txt' });
      const list = () => call('fs_list', {});
      assert.equal(await read(), 'ok');
      replace(workspace.path('haft.yaml'), DENIES);
      await log.until(/(policy from before stays)/);
      assert.match(log.text(), /has not been trusted on this machine/);
      assert.equal(await read(), 'ok');
      const hash = sha256Hex(DENIES);
      assert.equal((await cli(workspace.root, 'trust', '--sha256', hash)).status, 0);
      await log.until(/(was read again)/);
      assert.equal(await read(), 'policy.denied');
      replace(workspace.path('haft.yaml'), WIDENS);
      await log.until(/(- paths\.rules: .*grants more)/);
      assert.equal(await read(), 'policy.denied');
      replace(workspace.path('haft.yaml'), BROKEN);
      await log.until(/(haft\.yaml has problems; the policy from before stays)/);
      assert.match(log.text(), /haft\.yaml:2:1: error key\.unknown.*pathz[\s\S]*did you mean|paths/);
      assert.equal(await read(), 'policy.denied');
      assert.equal((await cli(workspace.root, 'trust', '--revoke')).status, 0);
      await log.until(/(trusted no longer)/);
      assert.equal(await list(), 'policy.untrusted');
      replace(workspace.path('haft.yaml'), DENIES);
      assert.equal((await cli(workspace.root, 'trust', '--sha256', hash)).status, 0);
      await log.until(/trusted no longer[\s\S]*(was read again)/);
      assert.equal(await list(), 'ok');
      assert.equal(await read(), 'policy.denied');
    } finally {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('close', resolve));
      workspace.remove();
    }
  });
});

describe('haft serve below another workspace', () => {
  it('takes over what the policy around it says from now on', async () => {
    const workspace = makeWorkspace({ 'haft.yaml': WIDENS, 'sub/a.txt': 'hello\n' });
    const child = startHaft(['serve', '--port', '0', '--json', '--workspace', 'sub'], {
      cwd: workspace.root,
    });
    const log = listen(child.stderr);
    try {
      const { address, token } = JSON.parse(await listen(child.stdout).until(/^(.*)\n/));
      replace(workspace.path('haft.yaml'), 'version: 1\ntools: { default: deny }\n');
      await log.until(/(was read again)/);
      const response = await fetch(`${address}/v1/call`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ tool: 'file_read', args: { path: 'a.txt' } }),
      });
      const { errors } = (await response.json()) as { errors: { reason: string }[] };
      assert.equal(errors[0]?.reason, 'policy.denied');
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
