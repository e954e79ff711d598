// Owns: the proof that the daemon never starts with one token for both, or one that can be guessed.
// Refuses: the daemon itself; the doors' tests start it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { takeTokens } from './tokens.ts';

const CALLS = 'calls-0123456789';
const MANAGEMENT = 'manage-0123456789';
const refusal = (message: RegExp) => (thrown: unknown) => {
  assert.equal((thrown as { reason?: string }).reason, 'usage');
  assert.match((thrown as Error).message, message);
  return true;
};

describe('takeTokens', () => {
  it('takes those that are set, without white space around them', () => {
    const env = { HAFT_TOKEN: CALLS, HAFT_APPROVAL_TOKEN: ` ${MANAGEMENT}\r\n` };
    assert.deepEqual(takeTokens(env), { calls: CALLS, management: MANAGEMENT });
  });

  for (const env of [{}, { HAFT_TOKEN: '', HAFT_APPROVAL_TOKEN: '' }])
    it(`makes up different ones for ${JSON.stringify(env)}`, () => {
      const { calls, management } = takeTokens(env);
      assert.match(calls, /^[0-9a-f]{48}$/);
      assert.match(management, /^[0-9a-f]{48}$/);
      assert.notEqual(calls, management);
      assert.notEqual(takeTokens(env).calls, calls);
    });

  for (const same of [CALLS, ` ${CALLS}`, `${CALLS}\n`, `\t${CALLS} `])
    it(`refuses ${JSON.stringify(same)} for both`, () => {
      const env = { HAFT_TOKEN: CALLS, HAFT_APPROVAL_TOKEN: same };
      assert.throws(() => takeTokens(env), refusal(/are the same, so whoever calls a tool could approve/));
    });

  for (const name of ['HAFT_TOKEN', 'HAFT_APPROVAL_TOKEN'] as const)
    for (const [token, why] of [
      ['  \n', /is blank/],
      ['demo', /has 4 characters, which can be guessed; it needs at least 16/],
      ['123456789012345', /has 15 characters/],
      ['   demo                ', /has 4 characters/],
      ['two words of sixteen', /cannot carry/],
      ['0123456789abcdef\u0000', /cannot carry/],
      ['kennwört-0123456789', /cannot carry/],
    ] as const)
      it(`refuses ${JSON.stringify(token)} as ${name}, by name and without showing it`, () =>
        assert.throws(
          () => takeTokens({ [name]: token }),
          (thrown: unknown) => {
            assert.ok(!(thrown as Error).message.includes(token));
            return refusal(why)(thrown) && refusal(new RegExp(`Cannot serve: ${name} `))(thrown);
          },
        ));
});
