import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { installationOf } from '../contract/tools-for-tests.ts';
import { fillConfig } from './config-filling.ts';

const hub = installationOf('hub', {});

describe('fillConfig', () => {
  it('puts secrets and granted variables in, where they are named, and nowhere else', async () => {
    const config = {
      command: ['{{ not.filled }}'],
      credentials: ['hub'],
      env: { passthrough: ['WHO'], set: { TOKEN: '{{ credentials.hub.token }}', PLAIN: 'x' } },
      headers: {
        authorization: 'Bearer {{ credentials.hub.token }}',
        'x-who': '{{ env.WHO }}{{ env.SECRET }}',
      },
    };
    const asked: unknown[] = [];
    const secretsFor = async (_: unknown, providers: readonly string[]) => {
      asked.push(providers);
      return { hub: { token: 's3cret' } };
    };
    const filled = await fillConfig(config, hub, secretsFor, { WHO: 'ada', SECRET: 'no' });
    assert.deepEqual(filled, {
      ...config,
      env: { passthrough: ['WHO'], set: { TOKEN: 's3cret', PLAIN: 'x' } },
      headers: { authorization: 'Bearer s3cret', 'x-who': 'ada' },
    });
    assert.deepEqual(asked, [['hub']]);
  });

  it('asks for nothing where nothing is named', async () => {
    const config = { credentials: ['hub'], headers: { a: 'b' } };
    assert.equal(await fillConfig(config, hub, () => assert.fail('not needed')), config);
  });

  it('refuses what is missing or cannot be filled in, without showing a value', async () => {
    const headers = { a: '{{ credentials.hub.token }}' };
    await assert.rejects(fillConfig({ credentials: ['hub'], headers }, hub, undefined), {
      reason: 'credentials.missing',
    });
    await assert.rejects(fillConfig({ headers }, hub, undefined), {
      reason: 'pack.invalid',
      message: 'Cannot fill in headers.a of "hub": "credentials.hub" is undefined',
    });
  });
});
