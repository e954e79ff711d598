// Owns: what a store must do with sealed credentials: keep every one of them apart, and as it was given.
// Refuses: sealing and opening; a store knows no key.
import assert from 'node:assert/strict';
import type { SealedCredential } from '../../contract/credentials.ts';
import type { StoreCase } from './environment.ts';

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
