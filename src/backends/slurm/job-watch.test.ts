import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createJobWatch, type JobWatch, type Watched } from './job-watch.ts';
import type { JobRow } from './slurm-client.ts';

const row = (name: string, state = 'PENDING', reason = 'None'): JobRow => ({ id: name, name, state, reason });

let bell: string;
let lists: number;
let rows: readonly JobRow[] | Error;
let histories: (readonly string[])[];
let past: readonly JobRow[] | undefined;
let alerts: string[];
let watch: JobWatch;
const stops: (() => void)[] = [];

beforeEach(() => {
  bell = mkdtempSync(join(tmpdir(), 'haft-bell-'));
  [lists, rows, histories, past, alerts] = [0, [], [], [], []];
  watch = createJobWatch({
    bell,
    bellMs: 5,
    pollMs: 5,
    alert: (message) => alerts.push(message),
    client: {
      async list() {
        lists++;
        if (rows instanceof Error) throw rows;
        return rows;
      },
      async history(names) {
        histories.push(names);
        return past;
      },
    },
  });
});
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
  rmSync(bell, { recursive: true });
});

/** What it is told next: the states of its rows, or that its bell rang. */
function follow(name: string, given: Partial<Watched> = {}): AsyncGenerator<string> {
  const told: string[] = [];
  let wake = () => {};
  const tell = (what: string) => {
    told.push(what);
    wake();
  };
  const watched = {
    name,
    urgent: false,
    missingHours: undefined,
    rung: () => tell('rung'),
    shown: (own: readonly JobRow[]) => tell(own.map(({ state }) => state).join(' ')),
    ...given,
  };
  stops.push(watch.add(watched));
  return (async function* () {
    for (;;) {
      const next = told.shift();
      if (next !== undefined) yield next;
      else
        await new Promise<void>((done) => {
          wake = done;
        });
    }
  })();
}

async function upTo(told: AsyncGenerator<string>, what: string): Promise<void> {
  while ((await told.next()).value !== what);
}

describe('createJobWatch', () => {
  it('asks once for all that are watched, and tells each its own', async () => {
    rows = Array.from({ length: 100 }, (_, n) => row(`j${n}`, n % 2 ? 'RUNNING' : 'PENDING'));
    const all = rows.map(({ name }) => follow(name));
    const first = await Promise.all(all.map(async (told) => (await told.next()).value));
    assert.deepEqual(
      first,
      rows.map(({ state }) => state),
    );
    assert.equal(lists, 1);
  });

  it('hears the bell of a job, once, and not those of others', async () => {
    const told = follow('a');
    writeFileSync(join(bell, 'b.ended'), '');
    writeFileSync(join(bell, 'a.claimed'), '');
    await upTo(told, 'rung');
    writeFileSync(join(bell, 'a.ended'), '');
    await upTo(told, 'rung');
  });

  it('asks the accounting once for all that are missing, and believes only ends', async () => {
    past = [row('a', 'CANCELLED by 0'), row('b', 'RUNNING')];
    const [a, b] = [follow('a', { missingHours: 1 }), follow('b', { missingHours: 1 })];
    assert.equal((await a.next()).value, 'CANCELLED by 0');
    assert.equal((await b.next()).value, '');
    assert.deepEqual(histories[0], ['a', 'b']);
  });

  it('asks no more where there is no accounting', async () => {
    past = undefined;
    const told = follow('a', { missingHours: 1 });
    for (let n = 0; n < 5; n++) await told.next();
    assert.equal(histories.length, 1);
  });

  it('takes no answer for no news, and says so once', async () => {
    rows = new Error('no controller');
    const told = follow('a');
    while (lists < 2) await new Promise((done) => setImmediate(done));
    rows = [row('a', 'RUNNING')];
    assert.equal((await told.next()).value, 'RUNNING');
    assert.deepEqual(alerts, ['Slurm does not answer: no controller']);
  });

  it('alerts about states that it does not know and jobs that will never start, once', async () => {
    rows = [row('a', 'PONDERING'), row('b', 'PENDING', 'PartitionTimeLimit')];
    const [a] = [follow('a'), follow('b')];
    for (let n = 0; n < 5; n++) await a.next();
    assert.equal(alerts.length, 2);
    assert.match(alerts.join('\n'), /PONDERING[\s\S]*will not start.*PartitionTimeLimit/);
  });
});
