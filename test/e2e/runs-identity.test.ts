// Owns: what the id of a run depends on, on a real engine: each thing that can change what it makes, and nothing else.
// Refuses: how the id is computed; the pins hold that.
import assert from 'node:assert/strict';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { DockerEngine } from '../../scripts/engines/docker.ts';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import { repositoryOf } from '../../src/base/image-reference.ts';
import type { RunsPolicy } from '../../src/contract/policy.ts';
import {
  type ActingAnswer,
  type ActingWorkspace,
  differencesOf,
  openActing,
  TEXT,
} from './support/acting-workspace.ts';

const docker = withDocker();
const NAME = 'haft/coreutils:1';

/** Images by their repositories, so that what a name stands for is the engine's word. */
const policyOf = ({ socket, images }: DockerEngine, more: RunsPolicy = {}): RunsPolicy => ({
  backend: 'docker',
  backends: ['local'],
  docker: { socket },
  images: [repositoryOf(images.coreutils), repositoryOf(images.busybox)],
  ...more,
});

interface Change {
  readonly what: string;
  /** As `explain` names it; absent where the run stays the same. */
  readonly field?: string;
  /** Answers what the call is made with, where that is what changed, and how everything becomes as before. */
  make(workspace: ActingWorkspace, engine: DockerEngine): Promise<Changed> | Changed;
}

interface Changed {
  readonly text?: string;
  readonly flags?: readonly string[];
  undo?(): void;
}

const policy =
  (change: (engine: DockerEngine) => RunsPolicy, more?: object): Change['make'] =>
  (workspace, engine) => {
    workspace.setPolicy(change(engine), more);
    return { undo: () => workspace.setPolicy(policyOf(engine)) };
  };

const CHANGES: readonly Change[] = [
  {
    what: 'one byte of an input',
    field: 'input text.digest',
    make: async (workspace) => ({ text: await workspace.import(TEXT.replace('pear', 'bear')) }),
  },
  {
    what: 'the image that a name stands for',
    field: 'image',
    make(_, { docker: command, images }) {
      command('tag', images.busybox, NAME);
      return { undo: () => void command('tag', images.coreutils, NAME) };
    },
  },
  {
    what: "one byte of the toolpack's code",
    field: "toolpack's code",
    make({ root }) {
      const file = join(root, 'acting/toolpack.ts');
      const before = readFileSync(file, 'utf8');
      writeFileSync(file, `${before}\n`);
      return { undo: () => writeFileSync(file, before) };
    },
  },
  {
    what: 'a limit of policy below what the tool asks for',
    field: 'policy runs.limits.memory_bytes',
    make: policy((engine) => policyOf(engine, { limits: { memory_bytes: 48 * 2 ** 20 } })),
  },

  {
    what: 'a limit of policy above what the tool asks for',
    make: policy((engine) => policyOf(engine, { limits: { memory_bytes: 2 ** 30 } })),
  },
  {
    what: 'an image of policy that the tool may use',
    make: policy((engine) => policyOf(engine, { images: [...(policyOf(engine).images ?? []), 'more/*'] })),
  },
  { what: 'the backend that the caller chooses', make: () => ({ flags: ['--backend', 'local'] }) },
  {
    what: 'the backend of policy',
    make: policy((engine) => policyOf(engine, { backend: 'local', backends: ['docker'] })),
  },
  {
    what: 'partitions and accounts',
    make: policy((engine) => policyOf(engine, { slurm: { partitions: ['long'], accounts: ['mine'] } })),
  },
  {
    what: 'an image for other tools',
    make: policy((engine) =>
      policyOf(engine, {
        images: [...(policyOf(engine).images ?? []), { image: 'other/*', tools: ['other_*'] }],
      }),
    ),
  },
  {
    what: 'other lines of policy',
    make: policy(policyOf, {
      budgets: { calls: 1000 },
      tools: { rules: [{ tool: 'curl', decision: 'deny' }] },
    }),
  },
  {
    what: 'the times of files',
    make({ root }) {
      for (const name of ['text', 'acting/toolpack.ts', 'haft.yaml']) utimesSync(join(root, name), 1, 1);
      return {};
    },
  },
];

describe('the id of a run', { skip: docker.skip }, () => {
  let engine: DockerEngine;
  let workspace: ActingWorkspace;
  let base: ActingAnswer;
  before(async () => {
    if (docker.skip !== false) return;
    engine = await docker.engine();
    workspace = await openActing(policyOf(engine));
    base = await workspace.act('sort');
    assert.ok(base.ok, JSON.stringify(base.error));
  });
  after(() => workspace?.close());

  for (const { what, field, make } of CHANGES)
    it(`${field === undefined ? 'stays' : 'changes'} with ${what}`, async () => {
      const { text = workspace.text, flags = [], undo } = await make(workspace, engine);
      const answer = await workspace.call({ text, act: 'sort' }, ...flags);
      undo?.();
      assert.ok(answer.ok, JSON.stringify(answer.error));
      assert.equal(answer.replayed, field === undefined);
      assert.deepEqual(await differencesOf(workspace, base, answer), field === undefined ? [] : [field]);
      assert.equal(answer.run_id === base.run_id, field === undefined);
      const again = await workspace.act('sort');
      assert.equal(again.run_id, base.run_id, 'as before');
      assert.equal(again.replayed, true);
    });
});
