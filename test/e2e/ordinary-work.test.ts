// Owns: the proof that containment is not bought with uselessness: ordinary work goes on in the sandbox, for every user.
// Refuses: to pass over work whose tools are missing in silence: it says which package would bring them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makePlace, type Place, pathOf, WHO, type Who } from './support/apart.ts';
import { WORKS, type Work } from './support/ordinary-work/works.ts';
import type { WorkReport } from './support/ordinary-work-run.ts';

const RUN = join(import.meta.dirname, 'support/ordinary-work-run.ts');

for (const who of WHO) {
  describe(`ordinary work in the sandbox as ${who}`, () => {
    const possible = WORKS.filter((work) => missing(work, who) === undefined);
    const reports = new Map<string, WorkReport>();
    let place: Place;
    let said = '';
    before(
      async () => {
        place = makePlace();
        const network = who !== 'self';
        const args = [network ? 'network' : 'plain', ...possible.map(({ name }) => name)];
        const ran = await place.run(who, RUN, args, {
          network,
          onLine(line) {
            const report = JSON.parse(line) as WorkReport;
            reports.set(report.name, report);
          },
        });
        said = ran.stderr.slice(-4000);
      },
      { timeout: 280_000 },
    );
    after(() => place.close());

    for (const work of WORKS) {
      const lacking = missing(work, who);
      it(work.name, { skip: lacking ? `install ${lacking}` : false }, (t) => {
        const report = reports.get(work.name);
        assert.ok(report, `it did not come to that: ${said}`);
        assert.deepEqual(report.problems, []);
        t.diagnostic(`${report.ms} ms`);
      });
    }
  });
}

/** The package that this user would need for it. */
function missing({ needs }: Work, who: Who): string | undefined {
  const env = { ...process.env, PATH: pathOf(who) };
  return Object.entries(needs).find(
    ([, [program = '', ...args]]) =>
      spawnSync(program, args, { env, stdio: 'ignore', cwd: '/' }).status !== 0,
  )?.[0];
}
