import { openObjectsEnvironment } from '../../stores/objects/environment-for-tests.ts';
import { openSqliteEnvironment } from '../../stores/sqlite/environment-for-tests.ts';
import { replaySuite } from '../../testing/replay-suite.ts';
import { createStoreReplay } from './lazy-runs.ts';

replaySuite("the store's runs", async () => {
  const [objects, state] = [await openObjectsEnvironment(), await openSqliteEnvironment()];
  const verify = async (id: Parameters<typeof objects.objects.verify>[0]) =>
    (await objects.objects.verify(id)) === 'ok';
  const sourceOf = ({ runs }: { readonly runs: (typeof state.store)['runs'] }) =>
    createStoreReplay({ runs, verify, clock: Date });
  return {
    ...objects,
    source: sourceOf(state.store),
    reopen: async () => sourceOf(await state.reopen()),
    async close() {
      await state.close();
      await objects.close();
    },
  };
});
