// Owns: `node bench/patches.ts`: diffs between published versions of packages, spoilt in many ways, given to the engine of file_patch; and
// the same as "*** Begin Patch" texts and as calls of file_edit.
// Refuses: to call a result right that is not, byte for byte, what the diff was made to give.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { FORMAT_PERTURBATIONS, FORMATS, triedAs } from './patch-formats.ts';
import { type Diff, PERTURBATIONS, patched, type Tried } from './patch-perturbations.ts';
import { writeSection } from './sections.ts';

/** Each version is compared with the one before it. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  ajv: ['8.0.5', '8.6.3', '8.12.0'],
  commander: ['7.2.0', '9.5.0', '11.1.0'],
  eslint: ['8.10.0', '8.30.0', '8.57.0'],
  express: ['4.16.4', '4.17.3', '4.18.3'],
  fastify: ['4.0.3', '4.10.2', '4.20.0'],
  mocha: ['9.0.3', '10.0.0', '10.4.0'],
  rxjs: ['7.4.0', '7.5.7', '7.8.1'],
  semver: ['7.3.8', '7.5.4', '7.6.3'],
  undici: ['5.8.2', '5.20.0', '5.28.4'],
  webpack: ['5.60.0', '5.75.0', '5.90.3'],
  yargs: ['16.2.0', '17.0.1', '17.7.2'],
};
/** Of one pair, so that no package outweighs the others. */
const MOST_OF_A_PAIR = 150;
const LARGEST = 400_000;
/** Git is asked about every one of so many. */
const ASK_GIT = 16;

interface Row {
  readonly name: string;
  readonly apart: boolean;
  tried: number;
  right: number;
  refused: number;
  wrong: number;
  apartWrong: number;
  git: { asked: number; right: number; wrong: number };
}

main();

function main(): void {
  const { values } = parseArgs({
    options: {
      write: { type: 'boolean', default: false },
      show: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
    },
  });
  const start = performance.now();
  const diffs = corpus();
  console.log(`${diffs.length} diffs of ${Object.keys(PACKAGES).length} packages`);
  const scratch = mkdtempSync(join(tmpdir(), 'haft-patches-'));
  const rows = PERTURBATIONS.filter(({ name }) => name.includes(values.only)).map(({ name, apart, make }) => {
    const row = emptyRow(name, apart === true);
    for (const [i, diff] of diffs.entries()) {
      for (const tried of make(diff, i, diffs)) judge(row, tried, i, { scratch, show: values.show });
    }
    console.log(line(row));
    return row;
  });
  rmSync(scratch, { recursive: true });
  const formats = FORMATS.map(({ name }) => ({ name, rows: formatRows(name, diffs, values) }));
  for (const [name, all] of [
    ['unified diff', rows],
    ...formats.map((one) => [one.name, one.rows] as const),
  ] as const) {
    const sum = (of: (row: Row) => number) => all.reduce((total, row) => total + of(row), 0);
    console.log(
      `${name}: ${sum((row) => row.tried)} tried, ${sum((row) => row.refused)} refused, ${sum(wrongOf)} silently wrong`,
    );
  }
  const wrong = [...rows, ...formats.flatMap((one) => one.rows)].reduce((sum, row) => sum + wrongOf(row), 0);
  const seconds = Math.round((performance.now() - start) / 1000);
  console.log(`${wrong} silently wrong, in ${seconds} s`);
  if (values.write) writeSection('patches', section(rows, formats, diffs.length, seconds));
  process.exitCode = wrong > 0 || diffs.length < 1000 ? 1 : 0;
}

function wrongOf({ apart, wrong }: Row): number {
  return apart ? 0 : wrong;
}

function emptyRow(name: string, apart: boolean): Row {
  return {
    name,
    apart,
    tried: 0,
    right: 0,
    refused: 0,
    wrong: 0,
    apartWrong: 0,
    git: { asked: 0, right: 0, wrong: 0 },
  };
}

/** The same diffs in another format. */
function formatRows(
  name: string,
  diffs: readonly Diff[],
  { only, show }: { only: string; show: boolean },
): Row[] {
  const format = FORMATS.find((one) => one.name === name)!;
  const wanted = FORMAT_PERTURBATIONS.filter((one) => (one.only ?? name) === name && one.name.includes(only));
  return wanted.map((perturbation) => {
    const row = emptyRow(perturbation.name, false);
    for (const [i, diff] of diffs.entries()) {
      const tried = triedAs(format, perturbation, diff, i);
      if (!tried) continue;
      row.tried++;
      if (typeof tried.result !== 'string') row.refused++;
      else if (tried.right.includes(tried.result)) row.right++;
      else {
        row.wrong++;
        if (show) {
          console.log(`--- ${name}, ${row.name}: ${diff.name}`);
          writeFileSync(
            join(tmpdir(), `haft-wrong-${name.replace(/\W+/g, '')}-${row.wrong}.json`),
            JSON.stringify(tried),
          );
        }
      }
    }
    console.log(
      `${name}, ${row.name}: ${row.tried} tried, ${row.right} right, ${row.refused} refused, ${row.wrong} wrong`,
    );
    return row;
  });
}

function judge(
  row: Row,
  tried: Tried,
  i: number,
  { scratch, show }: { scratch: string; show: boolean },
): void {
  row.tried++;
  const result = patched(tried);
  if (typeof result !== 'string') row.refused++;
  else if (tried.right.includes(result)) row.right++;
  else if (tried.boundary) row.apartWrong++;
  else {
    row.wrong++;
    if (show && !row.apart) {
      console.log(`--- ${row.name}: ${tried.name}`);
      writeFileSync(join(tmpdir(), `haft-wrong-${row.wrong}.json`), JSON.stringify({ ...tried, result }));
    }
  }
  if (i % ASK_GIT !== 0) return;
  row.git.asked++;
  const theirs = gits(tried, scratch);
  if (theirs !== undefined) row.git[tried.right.includes(theirs) ? 'right' : 'wrong']++;
}

function gits({ file, patch, name }: Tried, scratch: string): string | undefined {
  const path = join(scratch, 'x', name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, file, 'latin1');
  const { status } = spawnSync('git', ['apply', '--whitespace=nowarn', `--include=${name}`, '-'], {
    cwd: join(scratch, 'x'),
    input: Buffer.from(patch, 'latin1'),
    env: {
      PATH: process.env.PATH,
      HOME: scratch,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CEILING_DIRECTORIES: scratch,
    },
  });
  const after = existsSync(path) ? readFileSync(path, 'latin1') : '';
  rmSync(path, { force: true });
  return status === 0 ? after : undefined;
}

/** All modified text files of all pairs; the packages are fetched once, with npm as it is set up. */
function corpus(): Diff[] {
  const cache = join(tmpdir(), 'haft-patch-corpus');
  mkdirSync(cache, { recursive: true });
  return Object.entries(PACKAGES).flatMap(([name, versions]) =>
    versions.slice(1).flatMap((version, i) => {
      const [old, fresh] = [fetch(cache, name, versions[i]!), fetch(cache, name, version)];
      return textFiles(old)
        .filter((path) => existsSync(join(fresh, path)))
        .flatMap((path) => makeDiff(path, join(old, path), join(fresh, path)))
        .slice(0, MOST_OF_A_PAIR);
    }),
  );
}

function fetch(cache: string, name: string, version: string): string {
  const folder = join(cache, `${name}-${version}`);
  if (existsSync(join(folder, 'package'))) return folder;
  mkdirSync(folder, { recursive: true });
  run('npm', ['pack', '--silent', `${name}@${version}`, '--pack-destination', folder], cache);
  run('tar', ['xzf', `${name}-${version}.tgz`], folder);
  return folder;
}

function run(command: string, args: string[], cwd: string): void {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
}

function textFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:[cm]?[jt]s|json|md|ya?ml)$/.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function makeDiff(name: string, before: string, after: string): Diff[] {
  const [old, fresh] = [readFileSync(before, 'latin1'), readFileSync(after, 'latin1')];
  if (old === fresh || old.length > LARGEST || fresh.length > LARGEST) return [];
  const diff = (context: number) => {
    const args = [
      'diff',
      '--no-index',
      '--no-color',
      '--src-prefix=a/',
      '--dst-prefix=b/',
      `-U${context}`,
      before,
      after,
    ];
    const { stdout } = spawnSync('git', args, { encoding: 'latin1', maxBuffer: 1 << 28 });
    // The names of the two folders, in its header, become the one name of the file.
    return stdout
      .replace(/^diff --git .*$/m, `diff --git a/${name} b/${name}`)
      .replace(/^--- .*$/m, `--- a/${name}`)
      .replace(/^\+\+\+ .*$/m, `+++ b/${name}`);
  };
  const patch = diff(3);
  return /^@@/m.test(patch) ? [{ name, old, fresh, patch, bare: diff(0) }] : [];
}

function line({ name, tried, right, refused, wrong, apartWrong, git }: Row): string {
  return `${name}: ${tried} tried, ${right} right, ${refused} refused, ${wrong} wrong, ${apartWrong} at a boundary; git ${git.right} right, ${git.wrong} wrong of ${git.asked}`;
}

function section(
  rows: readonly Row[],
  formats: readonly { readonly name: string; readonly rows: readonly Row[] }[],
  diffs: number,
  seconds: number,
): string {
  const percent = (part: number, all: number) => (all === 0 ? '–' : `${((100 * part) / all).toFixed(1)} %`);
  return [
    `Written by \`node bench/patches.ts --write\` (${new Date().toISOString().slice(0, 10)}, ${seconds} s): ${diffs} diffs between published versions of`,
    `${Object.keys(PACKAGES).join(', ')}, each spoilt in the ways below and given to the engine of \`file_patch\`. *Right* is byte for`,
    'byte what the diff was made to give; anything else that is applied is *silently wrong*. Counted apart, since nothing in the text',
    'tells: a diff that was cut exactly where a hunk ends is a whole one; and a bare "@@" says nothing of its place.',
    `\`git apply\` was asked about every ${ASK_GIT}th.`,
    '',
    '| spoilt by | tried | right | refused | silently wrong | apart | git: right | git: wrong |',
    '|---|---|---|---|---|---|---|---|',
    ...rows.map(
      ({ name, apart, tried, right, refused, wrong, apartWrong, git }) =>
        `| ${name} | ${tried} | ${percent(right, tried)} | ${percent(refused, tried)} | ${apart ? '–' : wrong} | ${apart ? wrong + apartWrong : apartWrong} | ${percent(git.right, git.asked)} | ${percent(git.wrong, git.asked)} |`,
    ),
    ...formats.flatMap(({ name, rows: all }) => [
      '',
      `The same as ${name === 'file_edit' ? 'calls of `file_edit`, an edit for each hunk' : `\`${name}\` texts`}; what must be refused is no result at all:`,
      '',
      '| spoilt by | tried | right | refused | silently wrong |',
      '|---|---|---|---|---|',
      ...all.map(
        (row) =>
          `| ${row.name} | ${row.tried} | ${percent(row.right, row.tried)} | ${percent(row.refused, row.tried)} | ${row.wrong} |`,
      ),
    ]),
  ].join('\n');
}
