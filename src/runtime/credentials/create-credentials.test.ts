import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { type CredentialNeed, type Credentials, userOf } from '../../contract/credentials.ts';
import { credentialNeed as need } from '../../contract/tools-for-tests.ts';
import { openCredentials } from '../../preset/open-credentials.ts';
import { openSqliteEnvironment, type SqliteEnvironment } from '../../stores/sqlite/environment-for-tests.ts';
import { createSealer } from './create-credentials.ts';

const TOKEN = 'ghp/+secret value=42';

describe('Credentials', () => {
  it('gives a call the secrets that its tool declared, and no others', () =>
    inHost(async ({ credentials }) => {
      await credentials.set({ provider: 'github', owner: '' }, { token: TOKEN });
      await credentials.set({ provider: 'gitlab', owner: '' }, { token: 'other' });
      const { secrets } = await credentials.resolve([need()], '');
      assert.deepEqual(secrets, { github: { token: TOKEN } });
    }));

  it("takes the user's before the system's, and nobody else's", () =>
    inHost(async ({ credentials }) => {
      await credentials.set({ provider: 'github', owner: '' }, { token: 'of the system' });
      await credentials.set({ provider: 'github', owner: 'ada' }, { token: 'of ada' });
      const tokenFor = async (scope: CredentialNeed['scope'], owner: string) =>
        (await credentials.resolve([need({ scope })], owner)).secrets.github?.token;
      assert.equal(await tokenFor('any', 'ada'), 'of ada');
      assert.equal(await tokenFor('user', 'ada'), 'of ada');
      assert.equal(await tokenFor('system', 'ada'), 'of the system');
      assert.equal(await tokenFor('any', 'bob'), 'of the system');
      assert.equal(await tokenFor('any', ''), 'of the system');
      await assert.rejects(tokenFor('user', 'bob'), {
        reason: 'credentials.missing',
        message: /haft credentials set github --user "bob"/,
      });
      await assert.rejects(tokenFor('user', ''), { reason: 'credentials.missing', message: /"user"/ });
    }));

  it('leaves out an optional one that nobody set, and names the required one', () =>
    inHost(async ({ credentials }) => {
      const needs = [need(), need({ provider: 'gitlab', required: false })];
      assert.deepEqual(
        (await credentials.missing(needs, '')).map(({ provider }) => provider),
        ['github'],
      );
      await assert.rejects(credentials.resolve(needs, ''), {
        reason: 'credentials.missing',
        message: 'Cannot use "github": its credential is not set; haft credentials set github',
      });
      await credentials.set({ provider: 'github', owner: '' }, { token: TOKEN });
      assert.deepEqual(await credentials.missing(needs, ''), []);
      assert.deepEqual(Object.keys((await credentials.resolve(needs, '')).secrets), ['github']);
    }));

  it('redacts what a tool echoes, as it is, in base64 and percent-encoded', () =>
    inHost(async ({ credentials }) => {
      await credentials.set({ provider: 'github', owner: '' }, { token: TOKEN });
      const { redactor } = await credentials.resolve([need()], '');
      const echoes = [
        TOKEN,
        Buffer.from(TOKEN).toString('base64'),
        Buffer.from(`user:${TOKEN}`).toString('base64url'),
        encodeURIComponent(TOKEN),
        JSON.stringify({ a: TOKEN }),
      ];
      const answer = redactor.value({ list: echoes.map((echo) => `before ${echo} after`), kept: 'ordinary' });
      const text = JSON.stringify(answer);
      for (const part of [TOKEN, 'secret value', encodeURIComponent('secret value')])
        assert.ok(!text.includes(part));
      assert.ok(!text.includes(Buffer.from(TOKEN).toString('base64').slice(0, 12)));
      assert.equal(answer.kept, 'ordinary');
    }));

  it('does not hide a field that its schema calls open', () =>
    inHost(async ({ credentials }) => {
      const properties = { user: { type: 'string', writeOnly: false }, password: { type: 'string' } };
      const declared = need({ provider: 'smtp', schema: { type: 'object', properties } });
      await credentials.set({ provider: 'smtp', owner: '' }, { user: 'root', password: 'hunter22' });
      const { redactor } = await credentials.resolve([declared], '');
      assert.equal(redactor.text('/root: hunter22').includes('/root'), true);
      assert.equal(redactor.text('/root: hunter22').includes('hunter22'), false);
    }));

  it('keeps no value in clear: neither in the database nor in a file', () =>
    inHost(async ({ credentials, env, config }) => {
      await credentials.set({ provider: 'github', owner: '' }, { token: TOKEN });
      await credentials.set({ provider: 'github', owner: 'ada' }, { token: TOKEN });
      const files = [...filesBelow(config), ...filesBelow(env.folder)];
      assert.ok(files.length >= 3);
      for (const file of files) {
        const bytes = readFileSync(file, 'latin1');
        for (const form of [
          TOKEN,
          Buffer.from(TOKEN).toString('base64').slice(0, 20),
          Buffer.from(TOKEN).toString('hex'),
        ])
          assert.ok(!bytes.includes(form), file);
      }
    }));

  it('refuses a secret that does not fit its schema, without showing it, and keeps the one from before', () =>
    inHost(async ({ credentials }) => {
      const declared = need({
        schema: {
          type: 'object',
          properties: { token: { type: 'string', pattern: '^ghp_' } },
          required: ['token'],
          additionalProperties: false,
        },
      });
      await credentials.set({ provider: 'github', owner: '' }, { token: 'ghp_1' }, [declared]);
      for (const secret of [
        { token: TOKEN },
        { token: 'ghp_2', more: TOKEN },
        { other: TOKEN },
        {},
        { token: '' },
      ]) {
        await assert.rejects(
          credentials.set({ provider: 'github', owner: '' }, secret as { token: string }, [declared]),
          (failure: Error & { reason?: string }) =>
            failure.reason === 'credentials.schema' && !failure.message.includes(TOKEN),
        );
      }
      assert.equal((await credentials.resolve([declared], '')).secrets.github?.token, 'ghp_1');
      await credentials.set({ provider: 'github', owner: '' }, { token: TOKEN });
      await assert.rejects(credentials.resolve([declared], ''), { reason: 'credentials.schema' });
      const [finding] = await credentials.check([declared]);
      assert.deepEqual([finding?.ok, finding?.reason], [false, 'credentials.schema']);
    }));

  it('tells another key from a changed row, and both from a lost key', () =>
    inHost(async ({ credentials, env, config, reopen }) => {
      await credentials.set({ provider: 'github', owner: '' }, { token: TOKEN });
      await credentials.set({ provider: 'github', owner: 'ada' }, { token: TOKEN });
      const withKey = reopen({ HAFT_KEY: Buffer.alloc(32, 1).toString('base64') });
      await assert.rejects(withKey.resolve([need()], ''), {
        reason: 'credentials.key',
        message: /another key/,
      });
      await assert.rejects(withKey.resolve([need()], 'ada'), { reason: 'credentials.key' });

      env.sql("UPDATE credentials SET owner = 'bob' WHERE owner = 'ada'");
      await assert.rejects(credentials.resolve([need()], 'bob'), { reason: 'credentials.tampered' });
      env.sql("UPDATE credentials SET owner = 'ada', updated_ts = updated_ts + 1");
      await assert.rejects(credentials.resolve([need()], 'ada'), { reason: 'credentials.tampered' });
      env.sql("UPDATE credentials SET fields = 'no json'");
      await assert.rejects(credentials.resolve([need()], 'ada'), { reason: 'credentials.tampered' });

      rmSync(join(config, 'haft/key'));
      await assert.rejects(credentials.resolve([need()], ''), {
        reason: 'credentials.key',
        message: /is gone/,
      });
    }));

  it('names each damaged one, and lists the others', () =>
    inHost(async ({ credentials, config }) => {
      await credentials.set({ provider: 'github', owner: '' }, { token: TOKEN });
      await credentials.set({ provider: 'gitlab', owner: '' }, { token: TOKEN });
      const file = join(config, 'haft/credentials/github.json');
      for (const damage of [
        '',
        '{',
        'null',
        '{"box":""}',
        readFileSync(file, 'utf8').replace(/"box":"./, '"box":"'),
      ]) {
        writeFileSync(file, damage);
        assert.deepEqual(
          (await credentials.check()).map(({ provider, ok, reason }) => [provider, ok, reason]),
          [
            ['github', false, 'credentials.tampered'],
            ['gitlab', true, undefined],
          ],
          damage,
        );
      }
      assert.equal(await credentials.remove({ provider: 'github', owner: '' }), true);
      assert.deepEqual(
        (await credentials.list()).map(({ provider, fields }) => [provider, fields]),
        [['gitlab', ['token']]],
      );
    }));

  it('makes its files for their owner alone, also in a folder that was open to others', () =>
    inHost(async ({ credentials, config }) => {
      mkdirSync(join(config, 'haft'), { recursive: true });
      chmodSync(join(config, 'haft'), 0o755);
      await credentials.set({ provider: 'github', owner: '' }, { token: TOKEN });
      for (const [path, mode] of [
        ['haft', 0o700],
        ['haft/credentials', 0o700],
        ['haft/credentials/github.json', 0o600],
      ] as const)
        assert.equal((await import('node:fs')).statSync(join(config, path)).mode & 0o777, mode, path);
    }));
});

describe('createSealer', () => {
  const sealer = createSealer(Buffer.alloc(32, 3));
  const listing = { provider: 'p', owner: 'o', fields: ['f'], createdTs: 1, updatedTs: 2 };

  it('opens what it sealed, whatever it holds', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string({ unit: 'grapheme' })), (secret) => {
        assert.deepEqual(sealer.open(sealer.seal(listing, secret)), { ...secret });
      }),
    );
  });

  it('never gives the same box twice, and notices every flipped bit', () => {
    const sealed = sealer.seal(listing, { f: 'value' });
    assert.notEqual(sealer.seal(listing, { f: 'value' }).box, sealed.box);
    const bytes = Buffer.from(sealed.box, 'base64');
    for (let at = 0; at < bytes.length * 8; at += 1) {
      const flipped = Buffer.from(bytes);
      flipped[at >> 3]! ^= 1 << (at & 7);
      assert.throws(() => sealer.open({ ...sealed, box: flipped.toString('base64') }), {
        reason: 'credentials.tampered',
      });
    }
  });
});

describe('userOf', () => {
  it('reads the user of an attribution, and only a text', () => {
    assert.equal(userOf(null), '');
    assert.equal(userOf({ agent: 'x' }), '');
    assert.equal(userOf({ user: 'ada', user_id: 'other' }), 'ada');
    assert.equal(userOf({ user_id: 'bob' }), 'bob');
    assert.equal(userOf({ user: { toString: 'ada' } }), '');
  });
});

interface Host {
  readonly credentials: Credentials;
  readonly env: SqliteEnvironment;
  readonly config: string;
  reopen(variables: Record<string, string>): Credentials;
}

async function inHost(test: (host: Host) => Promise<void>): Promise<void> {
  const env = await openSqliteEnvironment();
  const config = mkdtempSync(join(tmpdir(), 'haft-config-'));
  const reopen = (variables: Record<string, string>) =>
    openCredentials({
      workspace: join(env.folder, '..'),
      users: async () => env.store.credentials,
      env: { XDG_CONFIG_HOME: config, ...variables },
    });
  try {
    await test({ credentials: reopen({}), env, config, reopen });
  } finally {
    await env.close();
    rmSync(config, { recursive: true });
  }
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
