// Owns: the proof that a command which is told to end looks after what its program made, whichever signal tells it.
// Refuses: SIGKILL, after which nothing can be looked after.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startHaft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

describe('a command that is told to end', () => {
  let workspace: Workspace;
  before(() => {
    workspace = makeWorkspace({
      'haft.yaml':
        "version: 1\nshell_allow: ['^sh make\\.sh']\npaths: { rules: [{ path: '**/.env', read: deny, write: deny }] }\n",
      'make.sh': 'mkdir -p "$1"; echo x > "$1/.env"; echo made > "$1/made"; sleep 60\n',
    });
  });
  after(() => workspace.remove());

  for (const signal of SIGNALS)
    it(`by ${signal} moves away what its program made against a rule`, async () => {
      const child = startHaft(['call', 'shell_exec', `{"cmd":"sh make.sh ${signal}"}`, '--json'], {
        cwd: workspace.root,
      });
      child.stdin.end();
      const ended = new Promise((resolve) => child.once('close', resolve));
      await eventually(() => existsSync(workspace.path(`${signal}/made`)), 'what the program makes');
      child.kill(signal);
      await ended;
      assert.ok(!existsSync(workspace.path(`${signal}/.env`)));
      assert.ok(existsSync(workspace.path(`${signal}/made`)));
    });
});
