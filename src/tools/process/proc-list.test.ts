import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { createProcessHandle } from '../../capabilities/processes/handle.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createToolHarness, type ToolHarness } from '../../testing/tool-harness-for-tests.ts';
import { procList } from './proc-list.ts';

describe('proc_list', { skip: process.platform === 'linux' ? false : 'needs /proc' }, () => {
  let harness: ToolHarness;
  const child = spawn('/bin/sh', ['-c', 'echo; read x; exit', 'marker-of-this-test', '--token', 'hunter2']);
  before(async () => {
    harness = await createToolHarness({
      capabilities: { processes: createProcessHandle },
      openObjects: (folder) => openObjectStore({ folder, process: 'test' }),
      schemas: createSchemaCompiler(),
    });
    await once(child.stdout, 'data');
  });
  after(() => {
    child.kill('SIGKILL');
    harness.close();
  });

  it('answers what a process is, without its secrets', async () => {
    const { data } = await harness.call(procList, { filter: 'marker-of-this.test' });
    assert.deepEqual([data.count, data.truncated], [1, false]);
    const [{ pid, ppid, cmd, started, ...numbers }] = data.processes as [(typeof data.processes)[0]];
    assert.deepEqual([pid, ppid], [child.pid, process.pid]);
    assert.equal(cmd, '/bin/sh -c echo; read x; exit marker-of-this-test --token [redacted]');
    assert.ok(numbers.mem_mb > 0 && numbers.cpu >= 0 && numbers.user !== '');
    assert.match(started, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('answers fifty processes unless told otherwise, and says that there are more', async () => {
    const { data } = await harness.call(procList, { limit: 1 });
    assert.deepEqual([data.processes.length, data.truncated], [1, true]);
    assert.ok((await harness.call(procList, {})).data.processes.length <= 50);
  });

  it('does not find a process by its secrets', async () => {
    assert.equal((await harness.call(procList, { filter: 'hunter2' })).data.count, 0);
  });

  it('declares that it looks at the process table', async () => {
    const { effects } = await harness.call(procList, { limit: 1 });
    assert.deepEqual(effects, [{ kind: 'proc.list' }]);
    const denied = await harness.refuse(procList, {}, { denies: ({ kind }) => kind === 'proc.list' });
    assert.equal(denied.reason, 'policy.denied');
  });

  const REFUSED: readonly (readonly [
    what: string,
    args: { [name: string]: string | number },
    reason: string,
  ])[] = [
    ['a filter that looks around', { filter: '(?=a)' }, 'input.pattern'],
    ['an open group', { filter: '(' }, 'input.pattern'],
    ['an empty filter', { filter: '' }, 'input.schema'],
    ['no processes', { limit: 0 }, 'input.schema'],
    ['an argument that there is not', { pid: 1 }, 'input.schema'],
  ];
  for (const [what, args, reason] of REFUSED) {
    it(`refuses ${what}`, async () => assert.equal((await harness.refuse(procList, args)).reason, reason));
  }
});
