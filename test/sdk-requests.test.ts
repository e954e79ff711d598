// Owns: what the SDK refuses of a program that no compiler looked at: fields and options that there are not, and wrong types.
// Refuses: what other doors take; their own tests have that.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type CallRequest, createRuntime, type DefaultRuntime, defineBuiltin } from '../src/index.ts';
import { makeWorkspace, type Workspace } from './e2e/support/workspace.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a program without types would send
type Anything = any;

let workspace: Workspace;
let runtime: DefaultRuntime;
before(async () => {
  workspace = makeWorkspace({ 'a.txt': 'one\n', 'private/key': 'secret' });
  runtime = await createRuntime({ workspace: workspace.root });
  const registry = { version: 1, paths: { rules: [{ path: 'private/**', read: 'deny' }] } };
  await runtime.sessions.open({ id: 'sess-123', registry });
});
after(async () => {
  await runtime.close();
  workspace.remove();
});

const READ = { tool: 'file_read', args: { path: 'private/key' } };

class Inherited {
  tool = 'file_read';
  args = { path: 'private/key' };
  get session_id() {
    return 'sess-123';
  }
}

const REFUSED: readonly (readonly [title: string, request: Anything, says: RegExp])[] = [
  ['session_id', { ...READ, session_id: 'sess-123' }, /no field "session_id"; did you mean "sessionId"\?/],
  ['sessionID', { ...READ, sessionID: 'sess-123' }, /did you mean "sessionId"\?/],
  ['session', { ...READ, session: 'sess-123' }, /no field "session"/],
  ['request_id', { ...READ, request_id: 'r' }, /did you mean "requestId"\?/],
  ['a whole ToolRequest', { type: 'ToolRequest', ...READ }, /there is tool, args, requestId, sessionId/],
  ['a field that is undefined', { ...READ, session_id: undefined }, /no field "session_id"/],
  ['a field named as one that all objects have', { ...READ, constructor: 'x' }, /no field "constructor"/],
  ['a field __proto__', JSON.parse('{"tool":"file_read","__proto__":{}}'), /no field "__proto__"/],
  ['an instance of a class', new Inherited(), /a plain object/],
  ['fields of a prototype', Object.create({ ...READ, session_id: 'sess-123' }), /a plain object/],
  ['a session that is null', { ...READ, sessionId: null }, /sessionId must be a string/],
  ['a session that is a number', { ...READ, sessionId: 123 }, /sessionId must be a string/],
  ['a session that is a record', { ...READ, sessionId: { id: 'sess-123' } }, /sessionId must be a string/],
  ['a request id that is a number', { ...READ, requestId: 7 }, /requestId must be a string/],
  ['arguments that are a list', { tool: 'file_read', args: ['a.txt'] }, /args must be an object/],
  ['arguments that are a text', { tool: 'file_read', args: '{"path":"a.txt"}' }, /args must be an object/],
  ['a tool that is no text', { tool: { id: 'file_read' }, args: {} }, /tool must be a string/],
  ['no tool', { args: {} }, /tool must be a string/],
  ['a list', [READ], /a plain object/],
  ['nothing', undefined, /a plain object/],
];

describe('runtime.call by name', () => {
  const call = (...given: readonly Anything[]) => (runtime.call as Anything)(...given);

  it('makes the call that the request would be, with its ids and options', async () => {
    const events: string[] = [];
    const onEvent = ({ event }: { readonly event: string }) => events.push(event);
    const { ok, data, requestId } = await runtime.call(
      'file_read',
      { path: 'a.txt' },
      { requestId: 'mine', onEvent },
    );
    assert.deepEqual([ok && data.content, requestId], ['one\n', 'mine']);
    assert.equal((await runtime.call('fs_list')).ok, true);
    assert.equal((await runtime.call('file_read', READ.args)).ok, true);
    const narrowed = await runtime.call('file_read', READ.args, { sessionId: 'sess-123' });
    assert.deepEqual([narrowed.ok, narrowed.errors[0]?.reason], [false, 'policy.denied']);
  });

  const WRONG: readonly (readonly [string, readonly Anything[]])[] = [
    ['a session that is spelled as it travels', ['file_read', READ.args, { session_id: 'sess-123' }]],
    ['a session in the place of options', ['file_read', READ.args, 'sess-123']],
    ['a session that is a number', ['file_read', READ.args, { sessionId: 7 }]],
    ['arguments that are a text', ['file_read', 'private/key']],
    ['a name that is none', ['', {}]],
  ];
  for (const [title, given] of WRONG)
    it(`refuses ${title}`, async () => {
      const { ok, errors } = await call(...given);
      assert.deepEqual([ok, errors.length], [false, 1]);
    });

  it('takes no options for none', async () => {
    assert.equal((await call('file_read', { path: 'a.txt' }, null)).ok, true);
  });
});

describe('runtime.call', () => {
  it('refuses a backend or a place for a tool that runs on none, and does nothing', async () => {
    const write = { tool: 'file_write', args: { path: 'new.txt', content: 'x' } };
    for (const options of [
      { backend: 'foo' },
      { backend: 'local' },
      { backend: '' },
      { placement: { partition: 'long' } },
    ])
      for (const request of [write, { tool: 'file_read', args: { path: 'a.txt' } }]) {
        const { errors } = await runtime.call(request, options);
        assert.equal(errors[0]?.reason, 'usage', JSON.stringify(options));
        assert.match(errors[0].message, /only tools of toolpacks run on a backend/);
      }
    assert.ok(!existsSync(workspace.path('new.txt')));
  });

  for (const [title, request, says] of REFUSED) {
    it(`refuses ${title}, and records that`, async () => {
      const response = await runtime.call(request as CallRequest);
      assert.equal(response.ok, false);
      assert.equal(response.data, null);
      assert.equal(response.errors[0]?.reason, 'input.envelope');
      assert.match(response.errors[0]!.message, says);
      const [row] = await runtime.audit.rows({ callId: response.callId });
      assert.deepEqual([row?.outcome, row?.session], ['failed', runtime.defaultSession]);
    });

    it(`refuses to explain ${title}`, () =>
      assert.rejects(runtime.policy.explain(request as CallRequest), { reason: 'input.envelope' }));
  }

  it('takes what there is', async () => {
    const bare = Object.assign(Object.create(null), { tool: 'file_read', args: { path: 'a.txt' } });
    for (const request of [bare, Object.freeze({ ...bare, requestId: 'mine', sessionId: 'sess-123' })])
      assert.equal((await runtime.call(request)).ok, true);
    const denied = await runtime.call({ ...READ, sessionId: 'sess-123' });
    assert.equal(denied.errors[0]?.reason, 'policy.denied');
  });

  it('decides by the request that it read, whatever becomes of it', async () => {
    const sessions = ['sess-123', undefined, undefined];
    const changing = {
      ...READ,
      get sessionId() {
        return sessions.shift();
      },
    };
    assert.equal((await runtime.call(changing)).errors[0]?.reason, 'policy.denied');
  });

  it('refuses an option that there is not', async () => {
    const options: Anything = { onevent: () => {} };
    const { errors } = await runtime.call({ tool: 'file_read', args: { path: 'a.txt' } }, options);
    assert.deepEqual(
      [errors[0]?.reason, errors[0]?.message],
      ['usage', 'Cannot call "file_read": the options have no field "onevent"; did you mean "onEvent"?'],
    );
  });
});

describe('the SDK', () => {
  const open = (options: Anything) => () => runtime.sessions.open(options);
  const MISTAKES: readonly (readonly [title: string, attempt: () => unknown, says: RegExp])[] = [
    ['a session with ttl_ms', open({ ttl_ms: 1 }), /did you mean "ttlMs"\?/],
    ['a session with narrowing', open({ policy: {} }), /no field "policy"/],
    ['a budget with wall_ms', open({ budget: { wall_ms: 5 } }), /did you mean "wallMs"\?/],
    ['a budget that is not a number', open({ budget: { calls: '3' } }), /calls must be a number/],
    ['a budget that is no number at all', open({ budget: { calls: Number.NaN } }), /calls must be a number/],
    ['a time to live below zero', open({ ttlMs: -1 }), /ttlMs must be a number/],
    ['a registry that is false', open({ registry: false }), /registry must be an object/],
    ['an attribution that is a text', open({ attribution: 'me' }), /attribution must be an object/],
    ['an empty id', open({ id: '' }), /id must be a text/],
    ['options that are a text', open('sess-123'), /not an object/],
    [
      'a runtime with workspce',
      () => createRuntime({ workspce: workspace.root } as Anything),
      /did you mean "workspace"\?/,
    ],
    ['a runtime with a path alone', () => createRuntime(workspace.root as Anything), /not an object/],
    ['a decision "grant"', () => runtime.approvals.decide('x', 'grant' as Anything, 'me'), /"granted" or/],
    ['a decision by nobody', () => runtime.approvals.decide('x', 'granted', '' as Anything), /who answers/],
    ['approvals that are open', () => runtime.approvals.list('open' as Anything), /one of pending/],
    ['audit rows by session_id', () => runtime.audit.rows({ session_id: 'x' } as Anything), /session/],
    ['runs by status', () => runtime.runs.list({ status: 'failed' } as Anything), /no field "status"/],
    [
      'a run again in session_id',
      () => runtime.runs.retry('run_1', { session_id: 'x' } as Anything),
      /did you mean "sessionId"\?/,
    ],
    [
      'a verification in session_id',
      () => runtime.runs.verify('run_1', { session_id: 'x' } as Anything),
      /did you mean "sessionId"\?/,
    ],
    [
      'a tool that mutate',
      () => defineBuiltin({ id: 'x', mutate: true } as Anything),
      /did you mean "mutates"\?/,
    ],
  ];
  for (const [title, attempt, says] of MISTAKES) {
    it(`refuses ${title}`, () =>
      assert.rejects(
        async () => attempt(),
        (thrown: Error & { reason: string }) => {
          assert.equal(thrown.reason, 'usage');
          assert.match(thrown.message, says);
          return true;
        },
      ));
  }
});

describe('createRuntime', () => {
  const TOOL = defineBuiltin<object, object>({
    id: 'mine',
    title: 'Mine',
    description: 'Does nothing.',
    input: { type: 'object' },
    output: { type: 'object' },
    effects: () => [],
    run: () => ({}),
  });
  const OPTIONS: readonly (readonly [title: string, options: Anything, says: RegExp])[] = [
    [
      'a tool that is only an id',
      { tools: [{ id: 'x' }] },
      /tools\[0\] is no tool: its "version" is missing.*defineBuiltin/,
    ],
    ['a tool that is null', { tools: [TOOL, null] }, /tools\[1\] is no tool/],
    ['a tool without run', { tools: [{ ...TOOL, run: undefined }] }, /its "run" is missing/],
    ['a tool with a bad id', { tools: [{ ...TOOL, id: '../x' }] }, /its "id" is missing/],
    ['tools that are no list', { tools: { TOOL } }, /tools is not a list/],
    ['trust that is a number', { trust: 5 }, /Cannot use the trust: it is neither/],
    ['trust that holds a number', { trust: [5] }, /Cannot use the trust: it is neither/],
  ];
  for (const [title, options, says] of OPTIONS) {
    it(`refuses ${title}`, async () => {
      const created = createRuntime({ workspace: workspace.root, ...options });
      await assert.rejects(created, (failure: Anything) => {
        assert.equal(failure.reason, 'usage');
        return says.test(failure.message);
      });
    });
  }

  it('answers arguments that throw when they are read with input.not_canonical', async () => {
    const boom = () => {
      throw new TypeError('boom');
    };
    const hostile = [
      new Proxy({}, { ownKeys: boom, get: boom, getPrototypeOf: boom }),
      {
        path: 'a.txt',
        get offset() {
          return boom();
        },
      },
    ];
    for (const args of hostile) {
      const { ok, errors } = await runtime.call({ tool: 'file_read', args: args as Anything });
      assert.deepEqual([ok, errors[0]?.reason], [false, 'input.not_canonical']);
      assert.doesNotMatch(errors[0]?.message ?? '', /boom/);
    }
  });
});

describe('a runtime that was closed', () => {
  it('answers no call: nothing of it would be recorded', async () => {
    const closed = await createRuntime({ workspace: workspace.root });
    await closed.close();
    for (const tool of ['file_read', 'file_write'])
      await assert.rejects(
        closed.call({ tool, args: { path: 'a.txt', content: 'x' } }),
        /the runtime is closed/,
      );
  });
});
