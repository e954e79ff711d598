import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { amount } from '../../../test/e2e/support/amount.ts';
import { SHORTEST_LEASE_MS } from '../../contract/artifacts.ts';
import { openObjectStore } from '../objects/open-object-store.ts';
import { processIdentity } from '../process-identity.ts';
import { openSqliteStore } from '../sqlite/open-sqlite-store.ts';
import { type ArtifactsEnvironment, inArtifacts } from './environment-for-tests.ts';
import { openArtifactStore } from './open-artifact-store.ts';

const CONTENTS = 120;
const ROUNDS = 4;
const KILLS = amount('HAFT_ARTIFACT_KILLS', 100, 6);

/** An hour in half a second, so that leases run out while this runs. The same moment in every process. */
const SPEED = 7200;
const start = Date.now();
const FAST = `{ now: () => ${start} + (Date.now() - ${start}) * ${SPEED} }`;

const urlOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

/** A process that runs `code` with artifacts of its own over the same state. */
function importer({ sqlite, folder }: ArtifactsEnvironment, clock: string, code: string): ChildProcess {
  const program = `
    import { openSqliteStore } from ${urlOf('../sqlite/open-sqlite-store.ts')};
    import { openObjectStore } from ${urlOf('../objects/open-object-store.ts')};
    import { openArtifactStore } from ${urlOf('./open-artifact-store.ts')};
    import { processIdentity } from ${urlOf('../process-identity.ts')};
    const clock = ${clock};
    const self = processIdentity();
    const store = await openSqliteStore({ folder: ${JSON.stringify(sqlite.folder)}, process: self, clock });
    const { smallObjects: small, objectUses: uses, artifacts: rows } = store;
    const objects = openObjectStore({ folder: ${JSON.stringify(folder)}, process: self, small, uses });
    const artifacts = openArtifactStore({ objects, rows, clock });
    const content = (n) => Buffer.alloc(n % 2 ? 300 : 30_000, 'content ' + n);
    const item = (n) => ({ type: 'file', path: 'f' + n, open: () => ({
      size: 0, executable: false, close() {},
      async read(into, at) { return content(n).copy(into, 0, at); },
    }) });
    ${code}`;
  return spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

describe('several processes over the same artifacts', () => {
  it('sweep and import at once, and what was imported is there', () =>
    inArtifacts(async (env) => {
      const child = importer(
        env,
        FAST,
        `
        let lost = 0;
        let enough = false;
        process.stdin.resume().on('end', () => { enough = true; });
        const due = new Map();
        for (let round = 0; round < ${ROUNDS} || !enough; round++) {
          for (let n = 0; n < ${CONTENTS}; n++) {
            // Comes back for each content about when its lease ends: at once, or after others had the time to sweep it.
            while (clock.now() < (due.get(n) ?? 0)) await new Promise((done) => setTimeout(done, 1));
            due.set(n, clock.now() + ${SHORTEST_LEASE_MS} * (1 + (n % 3) / 2));
            const began = Date.now();
            const one = await artifacts.importBytes(content(n));
            const tree = await artifacts.importTree([item(n), item(n + 1), item(n + 2)]);
            const states = [];
            for (const { id } of [one, tree])
              states.push(await artifacts.verify(id).then(({ state }) => state, (failure) => failure.message));
            // Whoever is kept waiting for longer than a lease has none.
            const inTime = (Date.now() - began) * ${SPEED} < ${SHORTEST_LEASE_MS};
            if (inTime && states.some((state) => state !== 'ok')) {
              lost++;
              console.error(n, states);
            }
          }
        }
        console.log(JSON.stringify({ lost }));
        await store.close();`,
      );
      const clock = { now: () => start + (Date.now() - start) * SPEED };
      const store = await openSqliteStore({
        folder: env.sqlite.folder,
        process: processIdentity(),
        clock,
      });
      const { smallObjects: small, objectUses: uses, artifacts: rows } = store;
      const objects = openObjectStore({ folder: env.folder, process: processIdentity(), small, uses });
      const artifacts = openArtifactStore({ objects, rows, clock });
      let done = false;
      const told = once(createInterface(child.stdout!), 'line').finally(() => {
        done = true;
      });
      let removed = 0;
      while (!done) {
        removed += (await artifacts.sweep({ unusedForMs: SHORTEST_LEASE_MS })).removed.objects;
        if (removed > CONTENTS) child.stdin!.end();
      }
      const [line] = await told;
      await store.close();
      assert.deepEqual(JSON.parse(line), { lost: 0 });
      assert.ok(removed > CONTENTS, `the child ended after ${removed} objects were swept`);
    }));

  it('never register what is not there, whenever one of them is killed', () =>
    inArtifacts(async (env) => {
      const { artifacts } = env;
      for (let kill = 0; kill < KILLS; kill++) {
        const child = importer(
          env,
          'Date',
          `
          console.log('ready');
          for (let n = ${kill * 1000}; ; n++) {
            await artifacts.importBytes(content(n));
            await artifacts.importTree([item(n), item(n + 7)]);
            console.log(n);
          }`,
        );
        // By what it has done, and a little: on a busy machine it does nothing in any fixed time.
        let said = 0;
        for await (const _ of createInterface(child.stdout!)) if (said++ === kill % 4) break;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
        child.kill('SIGKILL');
        await once(child, 'close');
      }
      const all = await artifacts.list({ limit: 100_000 });
      assert.ok(all.length > 0, 'nobody lived long enough to import anything');
      for (const { id } of all) assert.deepEqual(await artifacts.verify(id), { state: 'ok' });
      await artifacts.importBytes(Buffer.alloc(100_000, 'one more, which tidies up'));
      assert.deepEqual(await readdir(join(env.folder, 'tmp')), []);
    }));
});
