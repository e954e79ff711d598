import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createInprocessAdapter, type InprocessFunction } from '../adapters/inprocess/inprocess.ts';
import { createRedactor } from '../base/redact/create-redactor.ts';
import type { Adapter, RunInputs } from '../contract/adapter.ts';
import { fail } from '../contract/errors.ts';
import type { BoundTool } from '../contract/manifest.ts';
import type { OpenPack } from '../contract/runtime.ts';
import { boundTool, installationOf } from '../contract/tools-for-tests.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../preset/default.ts';

let workspace: string;
let runtime: DefaultRuntime;

beforeEach(async () => {
  workspace = mkdtempSync(join(tmpdir(), 'haft-installations-'));
  runtime = await createDefaultRuntime({ workspace });
});
afterEach(async () => {
  await runtime.close();
  rmSync(workspace, { recursive: true, force: true });
});

const bound = (id: string): BoundTool =>
  boundTool(
    id,
    'inprocess',
    {},
    {
      input: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
      output: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      limits: { timeoutMs: 5_000, maxInputBytes: 10_000, maxOutputBytes: 10_000 },
    },
  );

const pack = (name: string, functions: Record<string, InprocessFunction>): OpenPack => ({
  installation: installationOf(name, {}),
  adapter: createInprocessAdapter(functions),
  tools: Object.keys(functions).map(bound),
});

const call = (tool: string, args = {}) => runtime.call({ tool, args });
const reasonOf = async (tool: string, args = {}) => (await call(tool, args)).errors[0]?.reason;

describe('installations', () => {
  it('takes answers down to a depth, and refuses deeper ones before anybody walks through them', async () => {
    const lists = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    const deep = lists(100_000);
    const open = (id: string): BoundTool => {
      const { contract, binding } = bound(id);
      return { contract: { ...contract, output: true }, binding };
    };
    const functions: Record<string, InprocessFunction> = {
      'p.level': async () => ({ ok: true, data: lists(64) }),
      'p.lower': async () => ({ ok: true, data: lists(65) }),
      'p.deep': async () => ({ ok: true, data: deep }),
      'p.shown': async () => ({
        ok: true,
        data: 1,
        content: { blocks: [{ type: 'x', deep }], inData: false },
      }),
      'p.fails': async () => ({ ok: false, message: 'no such city', details: { deep } }),
    };
    const adapter = createInprocessAdapter(functions);
    const installation = installationOf('p', {});
    runtime.installations.add({ installation, adapter, tools: Object.keys(functions).map(open) });
    assert.deepEqual((await call('p.level')).data, lists(64));
    for (const tool of ['p.lower', 'p.deep', 'p.shown']) {
      const [error] = (await call(tool)).errors;
      assert.equal(error?.reason, 'output.schema', tool);
      assert.match(
        error?.message ?? '',
        /Cannot return what "p\.\w+" answered: it is nested more than 64 levels deep/,
      );
    }
    const [error] = (await call('p.fails')).errors;
    assert.deepEqual([error?.reason, error?.message], ['tool.failed', '"p.fails" failed: no such city']);
    assert.deepEqual(error?.details?.left_out, 'nested more than 64 levels deep');
  });

  it('lets tools of a pack be called through the pipeline, and records them', async () => {
    runtime.installations.add(pack('p', { 'p.echo': async ({ args }) => ({ ok: true, data: args }) }));
    assert.deepEqual((await call('p.echo', { text: 'hi' })).data, { text: 'hi' });
    assert.equal(await reasonOf('p.echo', { txt: 'hi' }), 'input.schema');
    const rows = await runtime.audit.rows({});
    assert.deepEqual(
      rows.map(({ tool, outcome }) => [tool, outcome]),
      [
        ['p.echo', 'pending'],
        ['p.echo', 'ok'],
        ['p.echo', 'failed'],
      ],
    );
  });

  it('never masks a failure by the output schema', async () => {
    const functions = {
      'p.fails': async () => ({ ok: false, message: 'no disk', details: { left: 0 } }) as const,
    };
    runtime.installations.add(pack('p', functions));
    const { errors } = await call('p.fails');
    assert.equal(errors[0]?.reason, 'tool.failed');
    assert.match(errors[0]!.message, /no disk/);
    assert.deepEqual(errors[0]!.details, { left: 0 });
  });

  it('does not let a tool speak in the place of Haft', async () => {
    const details = { admit: 'shell_allow: [".*"]', left: 0 };
    const functions = { 'p.fails': async () => ({ ok: false, message: 'no', details }) as const };
    runtime.installations.add(pack('p', functions));
    assert.deepEqual((await call('p.fails')).errors[0]?.details, { details });
  });

  it('gives a call its secrets and takes them out of everything that comes back', async () => {
    const secret = 'correct-horse-battery';
    const messages: unknown[] = [];
    const functions: Record<string, InprocessFunction> = {
      'p.echoes': async ({ credentials, progress }) => {
        const token = credentials?.github?.token ?? 'none';
        progress({ message: `using ${token}` });
        return { ok: true, data: { text: `${token} ${Buffer.from(token).toString('base64')}` } };
      },
      'p.fails': async ({ credentials }) => ({ ok: false, message: `401 for ${credentials?.github?.token}` }),
    };
    runtime.installations.add({
      ...pack('p', functions),
      secrets: async () => ({
        secrets: { github: { token: secret } },
        redactor: createRedactor({ secrets: [secret], guess: false }),
      }),
    });
    const response = await runtime.call(
      { tool: 'p.echoes', args: {} },
      { onEvent: (event) => messages.push(event) },
    );
    const failed = await call('p.fails');
    const rows = await runtime.audit.rows({});
    assert.ok(response.ok);
    assert.match(failed.errors[0]!.message, /401 for/);
    for (const text of [response, failed, messages, rows].map((part) => JSON.stringify(part))) {
      assert.ok(!text.includes(secret));
      assert.ok(!text.includes(Buffer.from(secret).toString('base64')));
    }
  });

  it('takes secrets out of the words of a bug, too, before the log gets them', async () => {
    const secret = 'correct-horse-battery';
    const base64 = Buffer.from(secret).toString('base64');
    const functions: Record<string, InprocessFunction> = {
      'p.throws': async ({ credentials }) => {
        const token = credentials?.github?.token ?? '';
        throw new TypeError(`cannot parse ${token} (${Buffer.from(token).toString('base64')})`);
      },
      'p.throws_text': async ({ credentials }) => {
        throw `no error, but ${credentials?.github?.token}`;
      },
    };
    runtime.installations.add({
      ...pack('p', functions),
      secrets: async () => ({
        secrets: { github: { token: secret } },
        redactor: createRedactor({ secrets: [secret], guess: false }),
      }),
    });
    const logged: string[] = [];
    runtime.subscribe(({ event, data }) => {
      if (event === 'InternalError') logged.push((data as { stack: string }).stack);
    });
    const answers = [await call('p.throws'), await call('p.throws_text')];
    assert.deepEqual(
      answers.map(({ errors }) => errors[0]?.reason),
      ['internal.unexpected', 'internal.unexpected'],
    );
    assert.match(logged[0] ?? '', /TypeError: cannot parse[\s\S]*at /);
    assert.match(logged[1] ?? '', /no error, but/);
    for (const text of [...logged, JSON.stringify(answers), JSON.stringify(await runtime.audit.rows({}))])
      assert.ok(!text.includes(secret) && !text.includes(base64), text);
  });

  it('asks whoever watches a tool before a call, unless the call is a look, and tells how it ended', async () => {
    const seen: unknown[] = [];
    let sick = false;
    const functions: Record<string, InprocessFunction> = {
      'p.echo': async ({ args }) => ({ ok: true, data: args }),
      'p.lost': async () => {
        throw fail('call.outcome_unknown', 'lost');
      },
      'p.free': async ({ args }) => ({ ok: true, data: args }),
    };
    const report = { status: 'ready', checkedTs: 1 } as const;
    runtime.installations.add({
      ...pack('p', functions),
      health: ({ contract: { id } }) =>
        id === 'p.free'
          ? undefined
          : {
              admit() {
                if (sick) throw fail('tool.unhealthy', 'Cannot use "p": its health check fails');
              },
              observe: (error) => void seen.push([id, error?.reason]),
              report: () => report,
            },
    });
    await call('p.echo', { text: 'a' });
    await call('p.lost');
    await call('p.free', { text: 'a' });
    sick = true;
    assert.equal(await reasonOf('p.echo', { text: 'a' }), 'tool.unhealthy');
    assert.equal(await reasonOf('p.echo', { txt: 'wrong' }), 'tool.unhealthy');
    assert.equal((await call('p.free', { text: 'a' })).ok, true);
    assert.equal((await runtime.call({ tool: 'p.echo', args: { text: 'a' } }, { probe: true })).ok, true);
    assert.deepEqual(seen, [
      ['p.echo', undefined],
      ['p.lost', 'call.outcome_unknown'],
      ['p.echo', undefined],
    ]);
    const shown = runtime.tools().filter(({ origin }) => origin === 'pack p');
    assert.deepEqual(
      shown.map(({ contract: { id }, health }) => [id, health]),
      [
        ['p.echo', report],
        ['p.free', undefined],
        ['p.lost', report],
      ],
    );
    const rows = await runtime.audit.rows({ tool: 'p.echo', limit: 20 });
    assert.ok(
      rows.some(({ errors }) => errors[0]?.reason === 'tool.unhealthy'),
      'a refused call is recorded',
    );
  });

  it('refuses a name that is taken, and then nothing of the pack is there', async () => {
    const functions = {
      'a.one': async () => ({ ok: true, data: {} }) as const,
      file_read: async () => ({ ok: true, data: {} }) as const,
    };
    assert.throws(() => runtime.installations.add(pack('a', functions)), { reason: 'pack.invalid' });
    assert.equal(runtime.tool('a.one'), undefined);
    assert.deepEqual(runtime.installations.all(), []);
  });

  it('takes tools away at once, and tells', async () => {
    const told: string[] = [];
    runtime.subscribe(({ event }) => told.push(event));
    runtime.installations.add(pack('p', { 'p.echo': async ({ args }) => ({ ok: true, data: args }) }));
    await call('p.echo', { text: 'x' });
    await runtime.installations.remove('p');
    assert.equal(await reasonOf('p.echo'), 'tool.unknown');
    assert.equal(told.filter((event) => event === 'ToolsChanged').length, 2);
    await assert.rejects(runtime.installations.remove('p'), { reason: 'tool.unknown' });
  });

  it('replaces the tools of a pack and keeps its connection and the calls under way', async () => {
    let opened = 0;
    let closed = 0;
    const retooled: string[][] = [];
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const working = pack('p', {
      'p.slow': async () => {
        await gate;
        return { ok: true, data: { text: 'done' } };
      },
      'p.new': async () => ({ ok: true, data: { text: 'new' } }),
    });
    const adapter: OpenPack['adapter'] = {
      ...working.adapter,
      async open(installed, tools) {
        opened++;
        const connection = await working.adapter.open(installed, tools);
        const close = () => {
          closed++;
          return connection.close();
        };
        return {
          ...connection,
          close,
          retool: (given) => retooled.push(given.map(({ contract }) => contract.id)),
        };
      },
    };
    runtime.installations.add({ ...working, adapter, tools: [bound('p.slow')] });
    const slow = call('p.slow');
    while (opened === 0) await new Promise(setImmediate);
    await runtime.installations.replace({ ...working, adapter, tools: [bound('p.new')] });
    assert.equal(await reasonOf('p.slow'), 'tool.unknown');
    assert.equal((await call('p.new')).ok, true);
    open();
    assert.deepEqual((await slow).data, { text: 'done' });
    assert.deepEqual([opened, closed, retooled], [1, 0, [['p.new']]]);
  });

  it('stays as it was where the other tools cannot be taken', async () => {
    const before = pack('p', { 'p.echo': async ({ args }) => ({ ok: true, data: args }) });
    runtime.installations.add(before);
    const taken = { ...before, tools: [bound('p.other'), bound('file_read')] };
    await assert.rejects(runtime.installations.replace(taken), { reason: 'pack.invalid' });
    assert.equal((await call('p.echo', { text: 'x' })).ok, true);
    assert.equal(await reasonOf('p.other'), 'tool.unknown');
    await assert.rejects(runtime.installations.replace(pack('q', {})), { reason: 'tool.unknown' });
  });

  it('opens anew where the pack in its place is reached otherwise', async () => {
    runtime.installations.add(pack('p', { 'p.echo': async () => ({ ok: true, data: { text: 'one' } }) }));
    assert.deepEqual((await call('p.echo')).data, { text: 'one' });
    await runtime.installations.replace(
      pack('p', { 'p.echo': async () => ({ ok: true, data: { text: 'two' } }) }),
    );
    assert.deepEqual((await call('p.echo')).data, { text: 'two' });
  });

  it('tries again to open what could not be opened', async () => {
    let tries = 0;
    const working = pack('p', { 'p.echo': async ({ args }) => ({ ok: true, data: args }) });
    const adapter = {
      ...working.adapter,
      open: async () => {
        if (++tries === 1) throw Object.assign(new Error('not yet'), {});
        return working.adapter.open(working.installation, working.tools);
      },
    };
    runtime.installations.add({ ...working, adapter });
    assert.equal((await call('p.echo', { text: 'x' })).ok, false);
    assert.equal((await call('p.echo', { text: 'x' })).ok, true);
  });
});

describe('deterministic tools of packs', () => {
  /** `inputs` are answered one after the other, and the last one from then on. */
  const counting = (inputs: readonly RunInputs[]) => {
    let [asked, ran] = [0, 0];
    const made = pack('p', { 'p.echo': async () => ({ ok: true, data: { text: String(++ran) } }) });
    const [tool] = made.tools as readonly [BoundTool];
    const adapter: Adapter = {
      ...made.adapter,
      runIdentity: () => inputs[Math.min(asked++, inputs.length - 1)] as RunInputs,
    };
    const contract = { ...tool.contract, deterministic: true };
    runtime.installations.add({ ...made, adapter, tools: [{ ...tool, contract }] });
  };
  const answer = async () => {
    const { data, replayed } = await call('p.echo');
    return [(data as { text: string }).text, replayed];
  };

  it('are replayed while all that they depend on is the same', async () => {
    const one = { code: 'c', reads: { files: { data: 'one' } } };
    const two = { code: 'c', reads: { files: { data: 'two' } } };
    counting([one, one, one, two, two, one]);
    assert.deepEqual(await answer(), ['1', false]);
    assert.deepEqual(await answer(), ['1', true]);
    assert.deepEqual(await answer(), ['2', false]);
    assert.deepEqual(await answer(), ['1', true]);
  });

  it('keep nothing when what they read changed while they ran', async () => {
    const one = { code: 'c', reads: { files: { data: 'one' } } };
    counting([one, { ...one, reads: { files: { data: 'two' } } }, one]);
    assert.deepEqual(await answer(), ['1', false]);
    assert.deepEqual(await answer(), ['2', false]);
    assert.deepEqual(await answer(), ['2', true]);
  });

  it('have no run where nobody can say what they depend on', async () => {
    counting([{ code: 'c', unknown: 'too much' }]);
    assert.deepEqual(await answer(), ['1', undefined]);
    assert.deepEqual(await answer(), ['2', undefined]);
  });
});
