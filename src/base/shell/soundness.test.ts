// Owns: the proof by running: for every line that is accepted, real bash starts no program that was not listed.
// Refuses: to run a line that was refused, or one that would write outside its throw-away folder.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, posix } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { amount } from '../../../test/e2e/support/amount.ts';
import type { ShellListing } from './analysis.ts';
import { analyzeShell, shellArgv } from './analyze-shell.ts';
import EVERYDAY from './fixtures/everyday.json' with { type: 'json' };
import LINES from './fixtures/soundness.json' with { type: 'json' };
import TRICKS from './fixtures/tricks.json' with { type: 'json' };
import { makeBuiltinLine, makeLine, mutate, seeded } from './make-line-for-tests.ts';
import { shellQuote } from './shell-quote.ts';

/** More lines for a longer search: SHELL_LINES=20000 SHELL_SEED=7 node --test … */
const COUNT = amount('SHELL_LINES', 2_000, 150);
const SEED = Number(process.env.SHELL_SEED ?? 1);

/** Programs that only note how they were started. */
const STUBS =
  'ls cat evil cargo rg npm foo bar baz aa bb cc l x y z a b E date grep cp head tee wc curl mkdir fd zip wget rsync';
/** Programs that note it too and then do their work, so that what they start is seen. */
const REAL = 'cat env timeout nice nohup xargs find bash sh stdbuf setsid sed sort tar git diff';

let root: string;
let bin: string;

before(() => {
  root = mkdtempSync(join(tmpdir(), 'haft-shell-'));
  bin = join(root, 'bin');
  mkdirSync(bin);
  for (const name of STUBS.split(' ')) stub(name, '');
  for (const name of REAL.split(' ')) {
    const path = process.env.PATH?.split(delimiter).find((folder) => exists(join(folder, name)));
    if (path !== undefined) stub(name, `exec ${join(path, name)} "$@"`);
  }
});

after(() => rmSync(root, { recursive: true, force: true }));

describe('no accepted line starts an unlisted program or opens an undeclared file', () => {
  it('of those written by hand', async () => {
    const lines = [...LINES, ...Object.values(TRICKS).flat(), ...EVERYDAY];
    const { wrong, ran } = await runAll(lines);
    assert.deepEqual(wrong, []);
    assert.ok(ran >= 300, `only ${ran} of ${lines.length} lines were accepted and run`);
  });

  it(`of ${COUNT} that are put together at random`, async () => {
    const { wrong } = await runAll(
      Array.from({ length: COUNT }, (_, i) => makeLine(seeded(SEED * 1e6 + i), 3)),
    );
    assert.deepEqual(wrong, []);
  });

  it(`of ${COUNT} such and known lines with characters changed`, async () => {
    const changed = Array.from({ length: COUNT }, (_, i) => {
      const random = seeded(SEED * 2e6 + i);
      return mutate(random, i % 2 === 0 ? LINES[Math.floor(random() * LINES.length)]! : makeLine(random, 2));
    });
    const { wrong } = await runAll(changed);
    assert.deepEqual(wrong, []);
  });

  it(`of ${COUNT} that hand such a line to another shell`, async () => {
    const handed = Array.from({ length: COUNT }, (_, i) => {
      const random = seeded(SEED * 4e6 + i);
      const known = i % 3 === 0 ? LINES[Math.floor(random() * LINES.length)]! : makeLine(random, 1 + (i % 2));
      const line = i % 5 < 2 ? mutate(random, known) : known;
      const quoted = i % 2 === 0 ? shellQuote(line) : `"${line.replace(/[\\$`"]/g, '\\$&')}"`;
      return `${['sh -c', 'bash -c', 'sh -ec', 'env sh -c'][i % 4]} ${quoted}`;
    });
    const { wrong } = await runAll(handed);
    assert.deepEqual(wrong, []);
  });

  it(`of ${COUNT} that hand builtins values which bash would evaluate`, async () => {
    const { wrong } = await runAll(
      Array.from({ length: COUNT }, (_, i) => makeBuiltinLine(seeded(SEED * 3e6 + i))),
    );
    assert.deepEqual(wrong, []);
  });
});

async function runAll(lines: readonly string[]): Promise<{ wrong: string[]; ran: number }> {
  const wrong: string[] = [];
  let ran = 0;
  for (const line of lines) {
    const analysis = await analyzeShell(line);
    if (!analysis.ok || reachesOut(analysis)) continue;
    ran++;
    const problem = compare(analysis, run(line));
    if (problem !== undefined) wrong.push(`${JSON.stringify(line)}: ${problem}`);
  }
  return { wrong, ran };
}

function reachesOut({ redirects, commands }: ShellListing): boolean {
  const outside = redirects.some(({ candidates }) => candidates.some((path) => /^\/|\.\./.test(path)));
  return outside || commands.some(({ words }) => /^(?:kill|ulimit|\/.*)$/.test(words[0]!));
}

interface Seen {
  readonly started: readonly (readonly string[])[];
  readonly files: readonly string[];
}

function compare(listing: ShellListing, seen: Seen): string | undefined {
  const { commands, redirects } = listing;
  for (const [program, ...argv] of seen.started) {
    const known = commands.some(
      ({ words, dynamic, viaWrapper = [] }) =>
        viaWrapper.includes(program!) ||
        // `bash foo` looks for a file foo on PATH too.
        (/^(?:ba)?sh$/.test(words[0]!) && words.includes(program!)) ||
        (words[0] === program && agrees(words.slice(1), dynamic, argv)),
    );
    if (!known) return `started ${JSON.stringify([program, ...argv])}, listed ${JSON.stringify(commands)}`;
  }
  // sort, curl and the like open files of their own.
  const own = commands.some(({ words }) => /^(?:sort|sed|tar|git|find|bash|sh)$/.test(words[0]!));
  const written = redirects.filter(({ access }) => access !== 'read').flatMap(({ candidates }) => candidates);
  const stray = own
    ? undefined
    : seen.files.find((file) => !written.some((path) => posix.normalize(path) === file));
  return stray === undefined ? undefined : `made ${stray}, declared ${JSON.stringify(redirects)}`;
}

/** What is known of the words must be in the arguments, in order; with nothing unknown they are equal. */
function agrees(words: readonly string[], dynamic: readonly number[], argv: readonly string[]): boolean {
  if (dynamic.length === 0) return JSON.stringify(words) === JSON.stringify(argv);
  const literal = words.filter((_, index) => !dynamic.includes(index + 1));
  let found = 0;
  for (const arg of argv) if (arg === literal[found]) found++;
  return found === literal.length;
}

/** An environment full of values that run `evil` wherever bash evaluates them. */
const BAIT = {
  x: 'b[$(evil)]',
  i: 'b[$(evil)]',
  b: 'b[$(evil)]',
  n: '-v b[$(evil)]',
  p: '-v',
  q: '$(evil)',
  y: '($(evil))',
};

function run(line: string): Seen {
  const cwd = mkdtempSync(join(root, 'cwd-'));
  mkdirSync(join(cwd, 'sub'));
  for (const [file, text] of Object.entries({ in: '1\n2\n', a: '', 'f.txt': 'x\n' }))
    writeFileSync(join(cwd, file), text);
  const had = new Set(readdirSync(cwd, { recursive: true, encoding: 'utf8' }));
  const [, ...args] = shellArgv(line);
  // Programs note their arguments on descriptor 9; it ends when the last of them, in the background too, is gone.
  const stdio: ('pipe' | 'ignore')[] = Array.from({ length: 10 }, (_, fd) =>
    fd < 3 || fd === 9 ? 'pipe' : 'ignore',
  );
  const { output } = spawnSync('/bin/bash', args, {
    cwd,
    env: { PATH: bin, HOME: cwd, ...BAIT },
    input: 'x\n',
    stdio,
    // Endless loops are among the lines.
    timeout: 1000,
    killSignal: 'SIGKILL',
  });
  const files = readdirSync(cwd, { recursive: true, encoding: 'utf8' }).filter(
    (file) => !had.has(file) && file !== 'nohup.out',
  );
  rmSync(cwd, { recursive: true, force: true });
  const started = String(output?.[9] ?? '')
    .split('\x01\0')
    .filter((record) => record !== '')
    .map((record) => record.split('\0').slice(0, -1));
  return { started, files };
}

function stub(name: string, then: string): void {
  const note = `printf '%s\\0' '${name}' "$@" "$(printf '\\001')" >&9`;
  writeFileSync(join(bin, name), `#!/bin/sh\n${note}\n${then}\n`, { mode: 0o755 });
}

function exists(path: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path]).status === 0;
}
