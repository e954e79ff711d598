// Owns: servers that say the secret that they were given, wherever they speak of themselves.
// Refuses: their answers to calls, which are redacted where calls are made.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRedactor } from '../../base/redact/create-redactor.ts';
import type { Failure } from '../../contract/errors.ts';
import type { ServerConnection } from '../server-adapter.ts';
import { withScripted } from './odd-servers-for-tests.ts';

const never = new AbortController().signal;

describe('discover', () => {
  const T = 'Zq7SecretToken9x';
  const withSecret = (odd: string, use: (connection: ServerConnection) => Promise<unknown>) =>
    withScripted(
      `const t = process.env.GIVEN; const long = 'x'.repeat(292) + t; ${odd}`,
      use,
      { credentials: ['lk'], env: { set: { GIVEN: '{{ credentials.lk.token }}' } }, protocol: '2025-11-25' },
      {
        secretsFor: async () => ({
          secrets: { lk: { token: T } },
          redactor: createRedactor({ secrets: [T], guess: false }),
        }),
      },
    );

  /** Each shows it at a place where messages are cut. */
  const SAYING = [
    [
      'refuses to begin',
      `if (message.method === 'initialize') { say({ id: message.id, error: { code: 1, message: long } }); return true; }`,
    ],
    [
      'refuses its list',
      `if (message.method === 'tools/list') { say({ id: message.id, error: { code: 1, message: long } }); return true; }`,
    ],
    [
      'has no list',
      `if (message.method === 'tools/list') { say({ id: message.id, result: { tools: t } }); return true; }`,
    ],
    [
      'has a text for a list',
      `if (message.method === 'tools/list') { say({ id: message.id, result: { tools: 'x'.repeat(35) + t } }); return true; }`,
    ],
    ['ends with it', `console.error('Error: ' + 'x'.repeat(285) + t); process.exit(1);`],
    ['floods with it', `for (let n = 0; n < 30_000; n++) process.stdout.write('x'.repeat(35) + t + '\\n');`],
  ] as const;
  for (const [what, odd] of SAYING)
    it(`shows no part of a secret of a server that ${what}`, async () => {
      await withSecret(odd, (connection) =>
        assert.rejects(connection.discover(never), (thrown: Failure) => {
          assert.ok(!JSON.stringify([thrown.message, thrown.details]).includes('Zq7'), thrown.message);
          return true;
        }),
      );
    });

  it('takes a secret out of what a server says of itself', async () => {
    const odd = `
      if (message.method === 'initialize') { say({ id: message.id, result: { protocolVersion: message.params.protocolVersion, capabilities: {}, serverInfo: { name: t, version: '1.0.0-' + t }, instructions: 'as ' + t } }); return true; }
      if (message.method === 'tools/list') { say({ id: message.id, result: { tools: [{ name: 'x', inputSchema: {}, annotations: { title: t } }] } }); return true; }`;
    await withSecret(odd, async (connection) => {
      const found = await connection.discover(never);
      assert.deepEqual([found.server?.name, found.instructions], ['[redacted]', 'as [redacted]']);
      assert.equal(found.tools[0]?.contract.title, '[redacted]');
      assert.ok(!JSON.stringify(found).includes(T), JSON.stringify(found));
    });
  });
});
