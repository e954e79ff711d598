// Owns: the proof that Haft's own folders (key, trust, compiled code) are out of reach in a workspace that holds them, such
// as a home, as root and as an ordinary user.
// Refuses: to judge by the code under test; see own-folders-run.ts.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createRuntime } from '../../src/index.ts';
import { makePlace, type Place, WHO } from './support/apart.ts';
import { cli } from './support/cli.ts';
import type { OwnReport } from './support/own-folders-run.ts';
import '../../src/preset/trust/trust-for-tests.ts';

const RUN = join(import.meta.dirname, 'support/own-folders-run.ts');

describe("Haft's own folders in the workspace", () => {
  let place: Place;
  before(() => {
    place = makePlace();
  });
  after(() => place.close());

  for (const who of WHO)
    it(`are neither read, changed nor made, as ${who}`, { timeout: 300_000 }, async () => {
      const reports: OwnReport[] = [];
      const onLine = (line: string) => void reports.push(JSON.parse(line));
      const ran = await place.run(who, RUN, [], { onLine });
      assert.equal(ran.status, 0, ran.stderr.slice(-4000));
      const held = { problems: [], ended: 'ok', works: true };
      // No mount holds a link: there no program runs at all.
      const unheld = { problems: [], ended: 'sandbox.unfenceable', works: true };
      assert.deepEqual(reports, [
        { layout: 'there', ...held },
        { layout: 'not there yet', ...held },
        { layout: 'named by variables', ...held },
        { layout: 'beside what variables name', ...held },
        { layout: 'behind a link', ...unheld },
        { layout: 'behind a link to nothing yet', ...unheld },
      ]);
    });

  it('are no workspace, nor is a folder in them, nor all of the machine', async () => {
    const own = join(process.env.XDG_CONFIG_HOME ?? '', 'haft');
    const inside = join(own, 'inside');
    mkdirSync(inside, { recursive: true });
    for (const folder of [own, inside, '/']) {
      await assert.rejects(createRuntime({ workspace: folder }), { reason: 'usage' }, folder);
      const { status, stderr } = await cli(folder, 'call', 'fs_list');
      assert.equal(status, 2, stderr);
      assert.match(stderr, /Cannot use workspace/);
    }
  });
});
