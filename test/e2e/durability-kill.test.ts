// Owns: the proof that `kill -9` at any instant loses no acknowledged change and tears no file.
// Refuses: gentle ends: the writer never gets to say goodbye.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Acknowledged, checkAftermath } from './support/aftermath.ts';
import { amount } from './support/amount.ts';
import { makeWorkspace } from './support/workspace.ts';

const WRITER = join(import.meta.dirname, 'support/writer.ts');
const KILLS = amount('HAFT_KILLS', 500, 24);
/** Kills in one workspace, so that recovery meets what earlier recoveries left. */
const GENERATIONS = 10;

describe('kill -9 while mutating calls stream in', () => {
  it(`loses nothing over ${KILLS} kills`, { timeout: 1_800_000 }, async () => {
    let kills = 0;
    let inFlight = 0;
    let acknowledged = 0;
    const lane = async (lane: number) => {
      while (kills < KILLS) {
        const workspace = makeWorkspace();
        try {
          const acks: Acknowledged[] = [];
          for (let i = 0; i < GENERATIONS && kills < KILLS; i++, kills++) {
            acks.push(...(await killedWriter(workspace.root, `${lane}.${kills}`, pseudoRandom(kills))));
            const aftermath = await checkAftermath(workspace.root, acks);
            inFlight += aftermath.inFlight.length;
          }
          acknowledged += acks.length;
        } finally {
          workspace.remove();
        }
      }
    };
    await Promise.all([lane(0), lane(1)]);
    assert.ok(acknowledged > KILLS, `only ${acknowledged} calls were acknowledged`);
    assert.ok(inFlight > 0, 'no kill ever hit a call in flight: the test proves nothing');
  });
});

/** Starts a writer, kills it some moment after its first answers, and answers what it acknowledged. */
function killedWriter(root: string, seed: string, chance: number): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', WRITER, root, seed, '8'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  // After this many bytes of answers: early, late, and every place between.
  const enough = Math.floor(chance * 30_000);
  child.stdout.on('data', (chunk) => {
    text += chunk;
    if (text.length > enough) child.kill('SIGKILL');
  });
  return new Promise((resolve) => {
    child.once('close', () => {
      const lines = text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      resolve(lines.filter((line) => line.call_id !== undefined));
    });
  });
}

const pseudoRandom = (n: number) => ((n * 2654435761) % 4294967296) / 4294967296;
