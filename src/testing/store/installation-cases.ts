// Owns: what a store must do with installations and sealed credentials: keep each of them apart, for every process, as it was given.
// Refuses: what an entry means, and sealing; a store knows no key.
import assert from 'node:assert/strict';
import type { SealedCredential } from '../../contract/credentials.ts';
import type { InstallationRecord } from '../../contract/store.ts';
import type { StoreCase } from './entries.ts';

const HUB: InstallationRecord = {
  name: 'hub',
  entry: { mcp: { command: ['node', 'hüb "server".mjs'], env: { set: { A: '1' } } } },
  enabled: true,
  addedTs: 1000,
  changedTs: 2000,
};
const OFF: InstallationRecord = { name: 'ci', entry: null, enabled: false, addedTs: 1000, changedTs: 1000 };

export const INSTALLATION_CASES: readonly StoreCase[] = [
  {
    name: 'toolNames.keep leaves a name with the tool that has it, for every process',
    async run({ store, reopen }) {
      await store.toolNames.keep(new Map([['hub.echo', 'hub-echo']]));
      await store.toolNames.keep(
        new Map([
          ['hub.echo', 'another'],
          ['other.tool', 'hub-echo'],
          ['hub.sum', 'hub-sum'],
        ]),
      );
      const kept = [...(await (await reopen()).toolNames.all())].sort();
      assert.deepEqual(kept, [
        ['hub.echo', 'hub-echo'],
        ['hub.sum', 'hub-sum'],
      ]);
    },
  },
  {
    name: 'installations.put keeps packs that were added, and which are disabled, for every process',
    async run({ store, reopen }) {
      await store.installations.put(HUB);
      await store.installations.put(OFF);
      const other = await reopen();
      assert.deepEqual(await other.installations.list(), [OFF, HUB]);
      assert.deepEqual(await other.installations.get('hub'), HUB);
      assert.equal(await other.installations.get('hu'), undefined);
    },
  },
  {
    name: 'installations.put takes the place of what was there, and refuses what has no canonical form',
    async run({ store }) {
      await store.installations.put(HUB);
      const later = { ...HUB, enabled: false, changedTs: 3000 };
      await store.installations.put(later);
      assert.deepEqual(await store.installations.list(), [later]);
      await assert.rejects(
        Promise.resolve().then(() => store.installations.put({ ...HUB, entry: { bad: Number.NaN } })),
        { reason: 'input.not_canonical' },
      );
      assert.deepEqual(await store.installations.list(), [later]);
    },
  },
  {
    name: 'installations.remove forgets one, and says whether it was there',
    async run({ store }) {
      await store.installations.put(HUB);
      assert.equal(await store.installations.remove('ci'), false);
      assert.equal(await store.installations.remove('hub'), true);
      assert.equal(await store.installations.remove('hub'), false);
      assert.deepEqual(await store.installations.list(), []);
    },
  },
];

const SEALED: SealedCredential = {
  provider: 'github',
  owner: 'ada',
  fields: ['token'],
  createdTs: 1000,
  updatedTs: 2000,
  keyId: '0123456789abcdef',
  box: 'c2VhbGVk',
};

export const CREDENTIAL_CASES: readonly StoreCase[] = [
  {
    name: 'credentials.put keeps each owner and provider apart, for every process',
    async run({ store, reopen }) {
      const others = [
        { ...SEALED, owner: 'bob "the" ünï', fields: ['user', 'password'] },
        { ...SEALED, provider: 'gitlab' },
      ];
      for (const row of [SEALED, ...others]) await store.credentials.put(row);
      const other = await reopen();
      assert.deepEqual(await other.credentials.list(), [SEALED, ...others]);
      assert.deepEqual(await other.credentials.get({ provider: 'github', owner: 'ada' }), SEALED);
      assert.equal(await other.credentials.get({ provider: 'github', owner: '' }), undefined);
      assert.equal(await other.credentials.get({ provider: 'gitlab', owner: 'bob "the" ünï' }), undefined);
    },
  },
  {
    name: 'credentials.put takes the place of what was there',
    async run({ store }) {
      await store.credentials.put(SEALED);
      const later = { ...SEALED, updatedTs: 3000, box: 'b3RoZXI=', keyId: 'fedcba9876543210' };
      await store.credentials.put(later);
      assert.deepEqual(await store.credentials.list(), [later]);
    },
  },
  {
    name: 'credentials.remove forgets one, and says whether it was there',
    async run({ store }) {
      await store.credentials.put(SEALED);
      assert.equal(await store.credentials.remove({ provider: 'github', owner: 'bob' }), false);
      assert.equal(await store.credentials.remove({ provider: 'github', owner: 'ada' }), true);
      assert.equal(await store.credentials.remove({ provider: 'github', owner: 'ada' }), false);
      assert.deepEqual(await store.credentials.list(), []);
    },
  },
];
