import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { makeClock } from '../../test/e2e/support/clock.ts';
import { makeWorkspace, type Workspace } from '../../test/e2e/support/workspace.ts';
import { eventually } from '../../test/support/eventually.ts';
import type { JsonObject } from '../contract/json.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../preset/default.ts';

const ALLOWS = "version: 1\nshell_allow: ['^(echo|sleep|cat)(\\s|$)']\n";

interface Shell {
  readonly shell_id: string;
  readonly running: boolean;
  readonly ended?: { readonly reason: string; readonly message: string };
}

describe('work that goes on after its call', () => {
  let workspace: Workspace;
  let runtime: DefaultRuntime;
  const clock = makeClock();
  const open = async () => {
    runtime = await createDefaultRuntime({ workspace: workspace.root, clock });
  };
  beforeEach(async () => {
    workspace = makeWorkspace({ 'haft.yaml': ALLOWS });
    await open();
  });
  afterEach(async () => {
    await runtime.close();
    workspace.remove();
  });

  const call = async <T>(tool: string, args: JsonObject, sessionId?: string): Promise<T> => {
    const { ok, data, errors } = await runtime.call({ tool, args, ...(sessionId ? { sessionId } : {}) });
    assert.ok(ok, JSON.stringify(errors));
    return data as T;
  };
  const start = async (cmd: string, sessionId?: string): Promise<string> =>
    (await call<Shell>('shell_start', { cmd }, sessionId)).shell_id;
  const refusedIn = async (sessionId: string) =>
    (await runtime.call({ tool: 'shell_list', args: {}, sessionId })).errors[0]?.reason ?? 'ok';
  const look = (shell_id: string) => call<Shell>('shell_read', { shell_id, wait_ms: 0 });
  const reasonOf = async (shell_id: string) => (await look(shell_id)).ended?.reason;
  const outcomeOf = async (id: string) =>
    (await runtime.audit.rows({ callId: id })).find(({ phase }) => phase === 'outcome');
  const reload = async (text: string) => {
    workspace.put('haft.yaml', text);
    assert.deepEqual(await runtime.reloadPolicy(), []);
  };

  it('ends when the session does, here or by its time', async () => {
    await runtime.sessions.open({ id: 'short', ttlMs: 5000 });
    await runtime.sessions.open({ id: 'ended' });
    const [mine, short, ended] = [
      await start('sleep 1000'),
      await start('sleep 1000', 'short'),
      await start('sleep 1000', 'ended'),
    ];
    await runtime.sessions.end('ended');
    assert.deepEqual((await outcomeOf(ended))?.errors[0]?.reason, 'session.expired');
    clock.advance(6000);
    await eventually(async () => (await outcomeOf(short)) !== undefined, 'the end of what has no session');
    assert.equal((await outcomeOf(short))?.errors[0]?.reason, 'session.expired');
    assert.equal((await look(mine)).running, true);
  });

  it('goes on under a new policy that allows it, and ends with one that does not', async () => {
    const [sleeper, plain] = [await start('sleep 1000'), await start('bash')];
    await call('shell_write', { shell_id: plain, input: 'cat /dev/zero' });
    await reload(`${ALLOWS}limits: { timeout_ms: 600000 }\n`);
    assert.deepEqual([(await look(sleeper)).running, (await look(plain)).running], [true, true]);
    await reload("version: 1\nshell_allow: ['^(echo|sleep)(\\s|$)']\nlimits: { timeout_ms: 600000 }\n");
    assert.equal(await reasonOf(plain), 'policy.denied');
    assert.match((await look(plain)).ended?.message ?? '', /since policy changed.*cat/);
    assert.equal((await look(sleeper)).running, true);
    await reload("version: 1\nshell_allow: ['^(echo)(\\s|$)']\n");
    assert.equal(await reasonOf(sleeper), 'policy.denied');
  });

  it('ends when policy hides what it was shown', async () => {
    const sleeper = await start('sleep 1000');
    await reload(`${ALLOWS}paths:\n  rules:\n    - { path: 'secret.txt', read: deny }\n`);
    assert.match((await look(sleeper)).ended?.message ?? '', /what programs may see/);
  });

  it('costs its session time, and ends once that is used up', async () => {
    await runtime.sessions.open({ id: 'poor', budget: { wallMs: 5000 } });
    const sleeper = await start('sleep 1000', 'poor');
    assert.equal(await refusedIn('poor'), 'ok');
    clock.advance(6000);
    await eventually(async () => (await outcomeOf(sleeper)) !== undefined, 'the end of the budget');
    assert.equal((await outcomeOf(sleeper))?.errors[0]?.reason, 'budget.exhausted');
    assert.equal(await refusedIn('poor'), 'budget.exhausted');
  });

  it('is counted against limits.max_shells, also where several start at once', async () => {
    await reload(`${ALLOWS}limits: { max_shells: 2 }\n`);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => runtime.call({ tool: 'shell_start', args: { cmd: 'sleep 1000' } })),
    );
    const reasons = answers.map(({ errors }) => errors[0]?.reason ?? 'ok').sort();
    assert.deepEqual(reasons, ['ok', 'ok', 'shell.limit', 'shell.limit', 'shell.limit']);
  });

  it('ends with the runtime, and a call that waits for it is answered', async () => {
    const sleeper = await start('echo a; sleep 1000');
    const reading = runtime.call({
      tool: 'shell_read',
      args: { shell_id: sleeper, wait_ms: 600_000, until: 'exit' },
    });
    await eventually(
      async () => (await call<{ next: number }>('shell_read', { shell_id: sleeper })).next > 0,
      'output',
    );
    await runtime.close();
    const { ended, running } = (await reading).data as Shell;
    assert.deepEqual([running, ended?.reason], [false, 'shell.ended']);
    await open();
    assert.equal((await outcomeOf(sleeper))?.errors[0]?.reason, 'shell.ended');
    assert.deepEqual(runtime.startup.inFlight, []);
  });
});
