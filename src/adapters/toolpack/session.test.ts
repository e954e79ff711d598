import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createSession } from './session.ts';
import { ENVIRONMENTS, hostProgram } from './toolpack.ts';
import { withPacks } from './toolpack-for-tests.ts';

describe('a session with a toolpack', () => {
  it('ends a process that does not answer in time, and goes on with another one', () =>
    withPacks(async ({ open, programs, root }) => {
      const text = `export default { toolName: 'stuck', canonicalize: ({ loop }) => { while (loop); return { fine: true }; } };`;
      await open({ 'toolpack.ts': text });
      const session = createSession({
        programs,
        program: () => hostProgram(join(root, 'pack1'), 'toolpack.ts', ENVIRONMENTS[0]),
        name: 'stuck',
        folder: () => root,
        source: () => undefined,
      });
      const ask = (loop: boolean) =>
        session.request({
          op: 'canonicalize',
          tool: 'stuck',
          input: { loop },
          signal: new AbortController().signal,
          patienceMs: loop ? 100 : 10_000,
        });
      try {
        assert.deepEqual(await ask(false), { ok: true, value: { fine: true } });
        await assert.rejects(ask(true), {
          reason: 'toolpack.failed',
          message: /did not answer within 100 ms/,
        });
        assert.deepEqual(await ask(false), { ok: true, value: { fine: true } });
      } finally {
        await session.close();
      }
    }));
});
