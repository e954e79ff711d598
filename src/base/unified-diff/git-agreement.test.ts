import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { applyFilePatch, isBlob } from './apply-patch.ts';
import type { FilePatch } from './file-patch.ts';
import { makeUnifiedDiff } from './make-diff.ts';
import { parsePatch } from './parse-patch.ts';

// Files are written and read as latin1, so that bytes which are not UTF-8 take part.
const FILES = 300;
let home: string;
let cases: Case[];

interface Case {
  readonly name: string;
  /** null where the file is absent. */
  readonly old: string | null;
  readonly fresh: string | null;
}

before(() => {
  home = mkdtempSync(join(tmpdir(), 'unified-diff-'));
  const random = generator(20_261_115);
  cases = Array.from({ length: FILES }, (_, i) => randomCase(i, random));
});
after(() => rmSync(home, { recursive: true }));

describe('parsePatch and applyFilePatch', () => {
  for (const flags of [[], ['-U0'], ['-U1', '--no-prefix'], ['-U8', '--patience', 'bare names']]) {
    it(`make of git diff ${flags.join(' ')} the bytes that git diffed`, () => {
      const repository = commitOld(`diff${flags.join('')}`);
      writeCases(repository, 'fresh');
      git(repository, ['add', '-A']);
      const bare = flags.includes('bare names');
      const args = ['-c', `core.quotePath=${!bare}`, 'diff', '--cached', '--no-renames'];
      const patch = git(repository, [...args, ...flags.filter((flag) => flag.startsWith('-'))]);
      const files = byName(patch, bare);
      for (const one of cases) {
        const file = files.get(one.name);
        if (one.old === one.fresh) assert.equal(file, undefined);
        // Lines added to a mixed file without a kept line beside them end as their neighbours do.
        else if (flags.includes('-U0') && isMixed(one)) assert.ok(file);
        else assert.equal(textOf(one.old ?? '', file!), one.fresh ?? '');
      }
    });
  }

  it('follow renames and copies that git found', () => {
    const repository = commitOld('renames');
    for (const { name, old } of cases) {
      if (old === null) continue;
      rmSync(join(repository, name));
      writeFileSync(join(repository, `${name} moved`), `${old}\nmore\n`, 'latin1');
    }
    git(repository, ['add', '-A']);
    const files = parsePatch(git(repository, ['diff', '--cached', '-M10%', '-l0']));
    const renamed = files.filter(({ change }) => change === 'rename');
    assert.ok(renamed.length > FILES / 3);
    for (const file of renamed) {
      const old = cases.find(({ name }) => name === file.pathBefore)!.old!;
      const moved = readFileSync(join(repository, file.pathAfter!), 'latin1');
      assert.equal(textOf(old, file), moved);
    }
  });

  it('give the bytes of git apply on files that moved on, or refuse', () => {
    const repository = commitOld('moved');
    writeCases(repository, 'fresh');
    git(repository, ['add', '-A']);
    const patch = git(repository, ['diff', '--cached', '--no-renames', '--diff-filter=M']);
    const random = generator(7);
    const moved = new Map(cases.map(({ name, old }) => [name, old && disturb(old, random)]));
    for (const [name, text] of moved) if (text) writeFileSync(join(repository, name), text, 'latin1');
    spawnSync('git', ['apply', '--reject', '-'], {
      cwd: repository,
      input: Buffer.from(patch, 'latin1'),
      env: ENV,
    });
    const counts = { same: 0, refusedByBoth: 0, refusedByUs: 0, appliedByUs: 0 };
    for (const [name, file] of byName(patch)) {
      const result = applyFilePatch(moved.get(name)!, file);
      const gitRefused = existsSync(join(repository, `${name}.rej`));
      if (gitRefused) counts[result.ok ? 'appliedByUs' : 'refusedByBoth']++;
      else if (result.ok) {
        assert.equal(result.text, readFileSync(join(repository, name), 'latin1'), name);
        counts.same++;
      } else {
        assert.equal(result.reason, 'patch.ambiguous', result.message);
        counts.refusedByUs++;
      }
    }
    assert.ok(counts.same > 50 && counts.refusedByBoth > 10, JSON.stringify(counts));
  });
});

describe('makeUnifiedDiff', () => {
  it('writes what git apply turns into the exact bytes', async () => {
    const repository = commitOld('made');
    const patches = await Promise.all(
      cases.map(({ name, old, fresh }) =>
        makeUnifiedDiff(old === null ? null : name, fresh === null ? null : name, old ?? '', fresh ?? ''),
      ),
    );
    execFileSync('git', ['apply', '--whitespace=nowarn', '-'], {
      cwd: repository,
      input: Buffer.from(patches.join(''), 'latin1'),
      env: ENV,
    });
    const exact = cases.filter(({ name, fresh }) => {
      const path = join(repository, name);
      return (existsSync(path) ? readFileSync(path, 'latin1') : null) === fresh;
    });
    assert.equal(exact.length, FILES);
  });
});

const ENV = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C.UTF-8' };

function git(cwd: string, args: string[]): string {
  const options = [
    '-c',
    'core.autocrlf=false',
    '-c',
    'user.name=a',
    '-c',
    'user.email=a@b',
    '-c',
    'core.fsync=none',
  ];
  return execFileSync('git', [...options, ...args], {
    cwd,
    env: ENV,
    encoding: 'latin1',
    maxBuffer: 1 << 28,
  });
}

function commitOld(folder: string): string {
  const repository = join(home, folder);
  mkdirSync(repository);
  git(repository, ['init', '-q']);
  writeFileSync(join(repository, '.gitattributes'), '* -text diff\n');
  writeCases(repository, 'old');
  git(repository, ['add', '-A']);
  git(repository, ['commit', '-q', '-m', 'old']);
  return repository;
}

function writeCases(repository: string, side: 'old' | 'fresh'): void {
  for (const one of cases) {
    const path = join(repository, one.name);
    const text = one[side];
    if (text === null) rmSync(path, { force: true });
    else writeFileSync(path, text, 'latin1');
  }
}

/** Names that git left bare stand in the latin1 text as bytes; quoted ones are decoded already. */
function byName(patch: string, bare = false): Map<string, FilePatch> {
  const decode = (path: string) => (bare ? Buffer.from(path, 'latin1').toString('utf8') : path);
  return new Map(parsePatch(patch).map((file) => [decode((file.pathAfter ?? file.pathBefore)!), file]));
}

function textOf(original: string, file: FilePatch): string {
  const base = isBlob(Buffer.from(original, 'latin1'), file.hashBefore) ? 'same' : 'unknown';
  const result = applyFilePatch(original, file, base);
  return result.ok ? result.text : `${file.pathAfter}: ${result.message}`;
}

function isMixed({ old, fresh }: Case): boolean {
  const ends = new Set(`${old}${fresh}`.match(/\r?\n/g));
  return ends.size > 1;
}

function randomCase(i: number, random: (below: number) => number): Case {
  const name = ['plain', 'two words', 'ö', 'tab\there', 'say "hi"', 'back\\slash'][i % 6] + String(i);
  const wide = i % 3 === 0 ? 12 : 4000;
  const ends = [['\n'], ['\n'], ['\r\n'], ['\n', '\r\n']][random(4)]!;
  const start = random(8) === 0 ? '\u00ef\u00bb\u00bf' : '';
  const word = () =>
    ['', '\t', '-- ', '++ ', '@@ ', '\u00ff\u00fe', '\\ ', ' '][random(8)] + String(random(wide));
  const fresh = () => word() + ends[random(ends.length)];
  const old = Array.from({ length: random(5) === 0 ? random(3) : random(120) }, fresh);
  const edited = [...old];
  for (let edits = random(8); edits > 0; edits--) {
    edited.splice(random(old.length + 1), random(4), ...Array.from({ length: random(4) }, fresh));
  }
  const end = () => (random(3) === 0 ? word() : '');
  const [before, later] = [
    start + old.join('') + end(),
    (random(9) === 0 ? '' : start) + edited.join('') + end(),
  ];
  if (random(20) === 0) return { name, old: null, fresh: later };
  return { name, old: before, fresh: random(20) === 0 ? null : later };
}

/** Inserts a few lines anywhere, so that places shift and some context is gone. */
function disturb(text: string, random: (below: number) => number): string {
  const lines = text.split('\n');
  for (let edits = 1 + random(2); edits > 0; edits--) {
    lines.splice(
      random(3) === 0 ? random(lines.length) : 0,
      0,
      ...Array.from({ length: 1 + random(5) }, () => `moved ${random(99_999)}`),
    );
  }
  return lines.join('\n');
}

/** Small and seeded (mulberry32): the same files on every run. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
