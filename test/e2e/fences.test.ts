// Owns: the proof that fences hold in trees that nobody thought of: random modes, links, mounts and nested workspaces,
// as root and as an ordinary user, who cannot mount.
// Refuses: to judge by the code under test; see random-trees.ts.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makePlace, type Place, WHO } from './support/apart.ts';
import type { TreeReport } from './support/random-trees.ts';

const RUN = join(import.meta.dirname, 'support/random-trees.ts');
/** 200 in all. */
const EACH = 200 / WHO.length;

describe('fences in random trees', () => {
  let place: Place;
  before(() => {
    place = makePlace();
  });
  after(() => place.close());

  for (const who of WHO)
    it(`let nothing denied be read, changed or made, as ${who}`, { timeout: 300_000 }, async (t) => {
      const reports: TreeReport[] = [];
      const onLine = (line: string) => void reports.push(JSON.parse(line));
      const ran = await place.run(who, RUN, [`${EACH}`], { onLine, mounts: true });
      assert.equal(ran.status, 0, ran.stderr.slice(-4000));
      assert.equal(reports.length, EACH);
      assert.deepEqual(
        reports.filter(({ problems }) => problems.length > 0),
        [],
      );
      const ended = Map.groupBy(reports, (one) => one.ended);
      t.diagnostic([...ended].map(([how, all]) => `${how}: ${all.length}`).join(', '));
    });
});
