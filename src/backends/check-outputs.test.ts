import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { checkOutputs, overLimit } from './check-outputs.ts';

let out: string;
beforeEach(() => {
  out = mkdtempSync(join(tmpdir(), 'haft-out-'));
});
afterEach(() => rmSync(out, { recursive: true }));

const check = (declared: readonly string[], outputBytes = 1024 * 1024) =>
  checkOutputs(out, {
    outputs: declared.map((src) => ({ role: `the ${src}`, type: 'TEXT', label: src, src })),
    resources: { cpus: 1, memoryBytes: 1, wallMs: 1, outputBytes },
  });
const sh = (script: string) => execFileSync('bash', ['-c', script], { cwd: out });

const SOUND: Readonly<Record<string, readonly [script: string, ...declared: string[]]>> = {
  'nothing where nothing is declared': [':'],
  'a declared file': ['echo > a', 'a'],
  'a declared file in folders': ['mkdir -p d/e; echo > d/e/f', 'd/e/f'],
  'a declared folder with all that is in it': ['mkdir -p d/e; echo > d/e/f; echo > d/g', 'd/'],
  'a declared folder that is empty, in another': ['mkdir -p a/d', 'a/d/'],
  'names of all kinds': ['echo > "a b"; echo > "ü"; echo > "*"', 'a b', 'ü', '*'],
};

const PROBLEMS: Readonly<Record<string, readonly [script: string, message: RegExp, ...declared: string[]]>> =
  {
    'a missing file': [':', /the output "the a" is not there: nothing is at "out\/a"/, 'a'],
    'an undeclared file': ['echo > a; echo > b', /"out\/b" was not declared/, 'a'],
    'an undeclared file beside a declared one in a folder': [
      'mkdir d; echo > d/a; echo > d/b',
      /"out\/d\/b" was/,
      'd/a',
    ],
    'an undeclared folder': ['mkdir d', /"out\/d" was not declared/],
    'a folder in place of an output': ['mkdir a', /"out\/a" was not declared as a folder/, 'a'],
    'a file in place of a folder': ['echo > d', /"out\/d" was not declared as a file/, 'd/'],
    'a missing folder': [':', /the output "the d\/" is not there: nothing is at "out\/d\/"/, 'd/'],
    'a link in place of a folder': ['ln -s / d', /"out\/d" is a symbolic link/, 'd/'],
    'a link in a declared folder': ['mkdir d; ln -s ../d d/l', /"out\/d\/l" is a symbolic link/, 'd/'],
    'a pipe in a declared folder': ['mkdir -p d/e; mkfifo d/e/p', /"out\/d\/e\/p" is no regular/, 'd/'],
    'a name that is no UTF-8 in a declared folder': [
      "mkdir d; echo > $'d/\\xff'",
      /cannot be looked at/,
      'd/',
    ],
    'a file beside a declared folder': ['mkdir d; echo > d/a; echo > da', /"out\/da" was not declared/, 'd/'],
    'a hidden file': ['echo > .hidden', /"out\/.hidden" was not declared/],
    'a link at a declared name': ['ln -s /etc/hostname a', /"out\/a" is a symbolic link/, 'a'],
    'a link beside an output': [
      'mkdir d; echo > d/a; ln -s ../d d/l',
      /"out\/d\/l" is a symbolic link/,
      'd/a',
    ],
    'a folder swapped for a link': ['ln -s / d', /"out\/d" is a symbolic link/, 'd/etc'],
    'a pipe': ['mkfifo a', /"out\/a" is no regular/, 'a'],
    'a file on the way to an output': ['echo > d', /"out\/d" was not declared/, 'd/a'],
    'a name that is no UTF-8': ["mkdir d; echo > d/a; echo > $'d/\\xff'", /cannot be looked at/, 'd/a'],
  };

describe('checkOutputs', () => {
  for (const [what, [script, ...declared]] of Object.entries(SOUND)) {
    it(`takes ${what}`, async () => {
      sh(script);
      assert.equal(await check(declared), undefined);
    });
  }
  for (const [what, [script, message, ...declared]] of Object.entries(PROBLEMS)) {
    it(`refuses ${what}`, async () => {
      sh(script);
      const problem = await check(declared);
      assert.equal(problem?.cause, 'tool.outputs');
      assert.match(problem.message, message);
    });
  }
  it('refuses a device', {
    skip: process.getuid?.() === 0 ? false : 'making devices needs root',
  }, async () => {
    sh('mknod a c 1 3');
    assert.match((await check(['a']))?.message ?? '', /"out\/a" is no regular/);
    sh('mkdir d; mv a d');
    assert.match((await check(['d/']))?.message ?? '', /"out\/d\/a" is no regular/);
  });
  it('counts exactly, also what is sparse, and says too much before anything else', async () => {
    sh('head -c 1000 /dev/zero > a; head -c 24 /dev/zero > b');
    assert.equal(await check(['a', 'b'], 1024), undefined);
    assert.equal((await check(['a', 'b'], 1023))?.cause, 'limit.output_bytes');
    sh('truncate -s 1T sparse');
    assert.equal((await check(['a', 'b']))?.cause, 'limit.output_bytes');
  });
  it('takes very many entries for too much', () => {
    assert.equal(overLimit(0, 100_000, 10), undefined);
    assert.equal(overLimit(0, 100_001, 10)?.cause, 'limit.output_bytes');
  });
});
