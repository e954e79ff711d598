// Owns: programs that break the protocol of JSON lines: each a few lines, over real pipes.
// Refuses: what a program may do; `stdio.test.ts` has that.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withPrograms } from '../../capabilities/exec/programs-for-tests.ts';
import { boundTool, installationOf } from '../../contract/tools-for-tests.ts';
import { handlesOn, invocationOf, stillPace } from '../fixtures-for-tests.ts';
import type { ServerConnection } from '../server-adapter.ts';
import { createStdioAdapter } from './stdio.ts';

const never = new AbortController().signal;
const SECRET = 'k3y-that-nobody-may-see';

/** `hello` and `reply` are what is answered, without the id; each an expression. */
async function withProgram<T>(
  { hello = '{ ok: true, data: { tools: [] } }', reply = '{}' },
  use: (connection: ServerConnection) => Promise<T>,
): Promise<T> {
  const source = `
const T = (name, more) => ({ name, input: { type: 'object' }, ...more });
const nested = (depth) => { let value = {}; for (let i = 1; i < depth; i++) value = { properties: value }; return value; };
const say = (id, answer) => process.stdout.write(JSON.stringify({ id, ...answer }) + '\\n');
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, hello, ping } = JSON.parse(line);
  if (hello) say(id, ${hello});
  else if (ping) say(id, {});
  else say(id, ${reply});
});`;
  return withPrograms({}, async (fixture) => {
    const adapter = createStdioAdapter({ handlesFor: handlesOn(fixture), scheduler: stillPace() });
    const config = { command: ['node', '-e', source], env: { set: { API_KEY: SECRET } } };
    const connection = adapter.open(installationOf('odd', config), [
      boundTool('odd.x', 'stdio', { name: 'x' }),
    ]);
    try {
      return await use(connection);
    } finally {
      await connection.close();
    }
  });
}

describe('stdio programs that say no tools when they are greeted', () => {
  for (const [what, hello, says] of [
    [
      'refuse',
      `{ ok: false, error: { message: 'no licence' } }`,
      /odd": it refuses its greeting: no licence/,
    ],
    [
      'refuse without words',
      `{ ok: false, error: null }`,
      /it refuses its greeting: the tool says that it failed/,
    ],
    ['have no ok', `{ data: { tools: [] } }`, /its answer to the greeting is none: it has no "ok"/],
    ['have an odd ok', `{ ok: 'yes', data: { tools: [] } }`, /its "ok" is "yes", neither true nor false/],
    ['have no data', `{ ok: true }`, /its "data" is null, not an object/],
    ['have a list for data', `{ ok: true, data: [] }`, /its "data" is a list, not an object/],
    ['have no tools', `{ ok: true, data: {} }`, /it has no "tools"/],
    ['have null for tools', `{ ok: true, data: { tools: null } }`, /its "tools" is null, not a list/],
    [
      'have an object for tools',
      `{ ok: true, data: { tools: { a: 1 } } }`,
      /its "tools" is an object, not a list/,
    ],
  ] as const)
    it(`${what}: are unhealthy, and say why`, async () => {
      await withProgram({ hello }, async (connection) => {
        await assert.rejects(connection.discover(never), { reason: 'tool.unhealthy', message: says });
        await assert.rejects(connection.invoke(invocationOf('odd.x', {})), { reason: 'tool.unhealthy' });
        const { status, message } = await connection.health(never);
        assert.equal(status, 'unhealthy');
        assert.match(message ?? '', says);
      });
    });

  it('are quoted in a few words, on one line and without their secrets', async () => {
    const hello = `{ ok: false, error: { message: 'bad key ' + process.env.API_KEY + '\\n\\u001b[31m' + 'm'.repeat(1e6) } }`;
    await withProgram({ hello }, async (connection) => {
      const { message = '' } = await connection.health(never);
      assert.match(message, /it refuses its greeting: bad key /);
      assert.ok(message.length < 600 && !message.includes(SECRET) && !/\p{Cc}/u.test(message), message);
    });
  });

  it('say too much: are told to have been ended for that', async () => {
    const hello = `{ ok: true, data: { tools: [T('a', { description: 'x'.repeat(2e7) })] } }`;
    await withProgram({ hello }, async (connection) => {
      const { message = '' } = await connection.health(never);
      assert.match(
        message,
        /it was ended, because its answer to the greeting is over the limit of \d+ bytes/,
      );
    });
  });

  it('say too much to nobody: are told to have been ended for that', async () => {
    const hello = `(say(77, { x: 'x'.repeat(2e7) }), { ok: true, data: { tools: [] } })`;
    await withProgram({ hello }, async (connection) => {
      // The id of a request that nobody made.
      const { message = '' } = await connection.health(never);
      assert.match(
        message,
        /it was ended, because it wrote a line of \d+ bytes, over the limit of \d+, to nobody/,
      );
    });
  });

  it('have too many tools: are unhealthy, and say how many are too many', async () => {
    const hello = `{ ok: true, data: { tools: Array.from({ length: 2001 }, (_, n) => T('t' + n)) } }`;
    await withProgram({ hello }, async (connection) => {
      await assert.rejects(connection.discover(never), {
        reason: 'tool.unhealthy',
        message: /Cannot list the tools of "odd": it has 2001 or more, over the limit of 2000/,
      });
    });
  });

  it('have tools that cannot be used: each is left out by its id', async () => {
    const tools = `[T('fine'), T('do-it'), T('do_it'), { name: 'none' }, T('deep', { input: nested(57) }), T('level', { input: nested(55) })]`;
    await withProgram({ hello: `{ ok: true, data: { tools: ${tools} } }` }, async (connection) => {
      const { tools: found, left } = await connection.discover(never);
      assert.deepEqual(
        found.map(({ contract }) => contract.id),
        ['odd.fine', 'odd.level'],
      );
      assert.deepEqual(left, {
        'odd.none': '"none" has no input schema',
        'odd.deep': 'a schema of "deep" is nested more than 56 levels deep',
        'odd.do_it': '"odd" has several tools of that name: do-it, do_it',
      });
    });
  });
});

describe('stdio programs whose answer is none', () => {
  for (const [what, reply, says] of [
    ['no ok', '{}', /broke the protocol.*: it has no "ok"/],
    ['data alone', '{ data: 1 }', /it has no "ok"/],
    ['an odd ok', `{ ok: 'yes', data: 1 }`, /its "ok" is "yes", neither true nor false/],
    ['null for ok', `{ ok: null, data: 1 }`, /its "ok" is null, neither true nor false/],
    ['ok and an error', `{ ok: true, data: 1, error: { message: 'e' } }`, /it is ok, and has an error/],
  ] as const)
    it(`${what}: the call fails and says so`, async () => {
      await withProgram({ reply }, async (connection) => {
        const answer = await connection.invoke(invocationOf('odd.x', {}));
        assert.ok(!answer.ok);
        assert.match(answer.message, says);
        assert.equal((await connection.health(never)).status, 'ready');
      });
    });

  it('takes ok without data for null', async () => {
    await withProgram({ reply: '{ ok: true, error: null }' }, async (connection) =>
      assert.deepEqual(await connection.invoke(invocationOf('odd.x', {})), { ok: true, data: null }),
    );
  });
});
