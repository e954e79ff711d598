import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import { makeWorkspace, type Workspace } from '../../../test/e2e/support/workspace.ts';
import { packFiles } from '../../adapters/pack-for-tests.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../default.ts';
import { lookAtPacks } from './look-at-packs.ts';

const PYTHON = `
import os
def work(input):
    if os.path.exists("state/down"): raise RuntimeError("the service is down")
    return {"asked": input}
`;
const python = { kind: 'python', module: 'tools:work' };
const caps = { filesystem: { read: ['state'] } };
const FILES = {
  ...packFiles(
    [
      [
        'p.pinged',
        python,
        { caps, health: { strategy: 'ping', input: { look: true }, failureThreshold: 1 } },
      ],
      ['p.other', python, { caps }],
    ],
    { 'tools.py': PYTHON },
  ),
  'haft.yaml': '{version: 1, packs: [packs/p]}',
  'state/up': '',
};
const NEVER = new AbortController().signal;

async function withRuntime<T>(
  workspace: Workspace,
  use: (runtime: DefaultRuntime) => Promise<T>,
): Promise<T> {
  const runtime = await createDefaultRuntime({ workspace: workspace.root });
  try {
    return await use(runtime);
  } finally {
    await runtime.close();
  }
}

describe('a tool with a plan of its own', () => {
  it('is looked at by an audited call that its own gate does not hold up, and is refused alone', async () => {
    const workspace = makeWorkspace(FILES);
    const look = async (runtime: DefaultRuntime) =>
      (await lookAtPacks(runtime, ['p.pinged'], NEVER)).map(([name, { status }]) => [name, status]);
    const reasonOf = async (runtime: DefaultRuntime, tool: string) =>
      (await runtime.call({ tool, args: {} })).errors[0]?.reason;
    try {
      await withRuntime(workspace, async (runtime) => {
        assert.deepEqual(await look(runtime), [['p.pinged', 'ready']]);
        const rows = await runtime.audit.rows({ tool: 'p.pinged', limit: 10 });
        assert.equal(rows.at(-1)?.outcome, 'ok');
        workspace.put('state/down', '');
        assert.deepEqual(await look(runtime), [['p.pinged', 'unhealthy']]);
      });
      await withRuntime(workspace, async (runtime) => {
        const listed = runtime.tools().filter(({ origin }) => origin === 'pack p');
        assert.deepEqual(
          listed.map(({ contract, health }) => [contract.id, health?.status]),
          [
            ['p.other', undefined],
            ['p.pinged', 'unhealthy'],
          ],
        );
        assert.equal(await reasonOf(runtime, 'p.pinged'), 'tool.unhealthy');
        assert.equal(await reasonOf(runtime, 'p.other'), 'tool.failed');
      });
      rmSync(workspace.path('state/down'));
      await withRuntime(workspace, async (runtime) => {
        assert.equal(await reasonOf(runtime, 'p.pinged'), undefined);
        assert.equal(
          runtime.tools().find(({ contract }) => contract.id === 'p.pinged')?.health?.status,
          'ready',
        );
      });
    } finally {
      workspace.remove();
    }
  });
});
