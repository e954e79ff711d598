// Owns: the proof that a link out of the workspace answers alike whatever it leads to: nobody learns what exists outside.
// Refuses: how long an answer takes; hostile-paths.test.ts has what may not be reached.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createRuntime, type DefaultRuntime, type JsonObject } from '../../src/index.ts';
import { PATH_ARGUMENTS, PLAIN } from './support/path-arguments.ts';
import { makeWorkspace } from './support/workspace.ts';

const workspace = makeWorkspace({
  'haft.yaml': "version: 1\nshell_allow: ['true']\n",
  'in/side.txt': 'inside\n',
});
const outside = makeWorkspace({ 'file.txt': 'secret\n', 'dir/sub/f': 'secret\n', 'shut/f': 'secret\n' });
let runtime: DefaultRuntime;

before(async () => {
  chmodSync(outside.path('shut'), 0);
  symlinkSync('loop', outside.path('loop'));
  symlinkSync(workspace.root, outside.path('back'));
  runtime = await createRuntime({ workspace: workspace.root });
});
after(async () => {
  await runtime.close();
  chmodSync(outside.path('shut'), 0o700);
  workspace.remove();
  outside.remove();
});

/** What the link `probe` may lead to. The last ones come back into the workspace, if what they pass is there. */
const TARGETS: readonly string[] = [
  outside.path('nothing'),
  outside.root,
  outside.path('dir'),
  outside.path('file.txt'),
  outside.path('file.txt/below'),
  outside.path('shut'),
  outside.path('shut/f'),
  outside.path('loop'),
  outside.path('nothing/deep'),
  `../${outside.root.split('/').at(-1)}/dir`,
  `../${outside.root.split('/').at(-1)}/nothing`,
  'hop',
  outside.path('back'),
  `${outside.path('dir')}/../..${workspace.root}/in`,
  `${outside.path('dir')}/../../${workspace.root.split('/').at(-1)}/in`,
  `${outside.path('nothing')}/../../${workspace.root.split('/').at(-1)}/in`,
  `${outside.path('dir')}/../../${workspace.root.split('/').at(-1)}/in/side.txt`,
  `${outside.path('nothing')}/../../${workspace.root.split('/').at(-1)}/in/side.txt`,
  '/proc/self/cwd',
  '/nothing-of-this-name',
];

function arm(target: string): void {
  for (const name of ['probe', 'hop', ...Object.values(PLAIN)])
    rmSync(workspace.path(name), { force: true, recursive: true });
  symlinkSync(target, workspace.path('probe'));
  symlinkSync(outside.path('dir'), workspace.path('hop'));
  writeFileSync(workspace.path(PLAIN.file), 'plain\n');
  mkdirSync(workspace.path(PLAIN.folder));
}

const SHELL = {
  title: 'shell_exec in',
  tool: 'shell_exec',
  args: (cwd: string): JsonObject => ({ cmd: 'true', cwd }),
};

describe('a link out of the workspace', () => {
  for (const { title, tool, args } of [SHELL, ...PATH_ARGUMENTS])
    it(`tells ${title} nothing of what is there`, async () => {
      for (const path of ['probe', 'probe/sub', 'probe/sub/deeper', 'probe/nothing', './probe/']) {
        const answers = new Map<string, string[]>();
        for (const target of TARGETS) {
          arm(target);
          const { ok, data, errors, warnings } = await runtime.call({ tool, args: args(path) });
          const told = JSON.stringify({ ok, data, errors, warnings }).replaceAll(
            /"(call_|mtime)[^,}]*/g,
            '""',
          );
          answers.set(told, [...(answers.get(told) ?? []), target]);
          if (tool === 'shell_exec') assert.equal(errors[0]?.reason, 'path.outside_workspace', target);
        }
        assert.equal(answers.size, 1, `${path}: ${JSON.stringify([...answers], null, 1)}`);
      }
    });
});
