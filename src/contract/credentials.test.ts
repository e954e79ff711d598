import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { injectCredentials } from './credentials.ts';
import { credentialNeed as need } from './tools-for-tests.ts';

describe('injectCredentials', () => {
  it('puts fields into the environment, headers and the context, as the tool declared', () => {
    const needs = [
      need({ env: { GH_TOKEN: 'token' }, headers: { Authorization: 'Bearer {{ token }}' }, context: true }),
      need({ provider: 'smtp', headers: { 'X-Login': '{{user}}:{{ password }}' } }),
    ];
    const secrets = { github: { token: 'abc' }, smtp: { user: 'ada', password: 'p {{ user }}' } };
    assert.deepEqual(injectCredentials(needs, secrets), {
      env: { GH_TOKEN: 'abc' },
      headers: { Authorization: 'Bearer abc', 'X-Login': 'ada:p {{ user }}' },
      context: { github: { token: 'abc' } },
    });
  });

  it('puts nothing anywhere for what nobody set', () => {
    const needs = [need({ env: { GH_TOKEN: 'token' }, required: false, context: true })];
    assert.deepEqual(injectCredentials(needs, {}), { env: {}, headers: {}, context: {} });
    assert.deepEqual(injectCredentials([need({ provider: 'constructor', context: true })], {}).context, {});
  });

  it('refuses a field that the secret does not have', () => {
    for (const fields of [{ env: { X: 'toString' } }, { headers: { X: '{{ toString }}' } }]) {
      assert.throws(() => injectCredentials([need(fields)], { github: { token: 'abc' } }), {
        reason: 'credentials.schema',
        message: /has no field "toString"/,
      });
    }
  });

  it('refuses a value that would break out of its header, and does not show it', () => {
    const needs = [need({ headers: { Authorization: 'Bearer {{ token }}' } })];
    for (const token of ['a\r\nX-Admin: 1', 'a\nb', 'a\0b', 'a\u0394']) {
      assert.throws(
        () => injectCredentials(needs, { github: { token } }),
        (failure: Error & { reason?: string }) =>
          failure.reason === 'credentials.schema' && !failure.message.includes(token),
      );
    }
  });
});
