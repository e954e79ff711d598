// Owns: `npm test`: every test that can run here, and a plain list of what could not and why.
// Refuses: to pass with a skipped test when CI=true.
// usage: test.ts [unit | e2e | stress] [--times]
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { BUILD_VARIABLE, builtCommand } from '../test/support/built-command.ts';

interface Group {
  readonly patterns: readonly string[];
  /** Only files whose text has this. */
  readonly having?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const GROUPS: Readonly<Record<string, Group>> = {
  unit: { patterns: ['src/**/*.test.ts', 'test/*.test.ts', 'test/pins/*.test.ts'] },
  e2e: { patterns: ['test/e2e/*.test.ts'] },
  /** Those that repeat something hundreds of times, with all of it. */
  stress: {
    patterns: ['test/e2e/*.test.ts', 'src/**/*.test.ts'],
    having: 'support/amount.ts',
    env: { HAFT_STRESS: 'full' },
  },
};
const USUAL = ['unit', 'e2e'];
/** With `--times`. */
const SHOWN = 20;

const root = join(import.meta.dirname, '..');
/** What Haft keeps for its user: not among what the developer's own Haft keeps. */
const config = mkdtempSync(join(tmpdir(), 'haft-config-'));
process.once('exit', () => rmSync(config, { recursive: true, force: true }));
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { times: { type: 'boolean' } },
});
const names = positionals.length === 0 ? USUAL : positionals;
const build = { [BUILD_VARIABLE]: builtCommand() };
const results = names.map((name) => runGroup(name));
const skipped = results.flatMap((result) => result.skipped);

if (skipped.length > 0) {
  console.log(
    `\nNot run here:\n${skipped.map((line) => `  ${line}`).join('\n')}\nnpm run verify, as root on Debian, installs what is missing and runs everything.`,
  );
}
const failed =
  results.some((result) => result.status !== 0) || (process.env.CI === 'true' && skipped.length > 0);
process.exitCode = failed ? 1 : 0;

function runGroup(name: string): { readonly status: number; readonly skipped: readonly string[] } {
  const group = GROUPS[name];
  if (!group) {
    console.error(`There is no group "${name}"; take one of ${Object.keys(GROUPS).join(', ')}`);
    return { status: 2, skipped: [] };
  }
  const { patterns, having, env } = group;
  const files = patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => having === undefined || readFileSync(join(root, file), 'utf8').includes(having))
    .sort();
  const log = join(tmpdir(), `haft-test-${process.pid}-${name}.txt`);
  const times = join(tmpdir(), `haft-times-${process.pid}-${name}.txt`);
  console.log(`\n${name}: ${files.length} files`);
  const { status } = spawnSync(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--test',
      '--test-concurrency=2',
      '--test-timeout=300000',
      '--test-reporter=dot',
      '--test-reporter-destination=stdout',
      '--test-reporter=tap',
      `--test-reporter-destination=${log}`,
      ...(values.times ? timesTo(times) : []),
      ...files,
    ],
    { cwd: root, stdio: 'inherit', env: { ...process.env, ...build, ...env, XDG_CONFIG_HOME: config } },
  );
  const tap = readFileSync(log, 'utf8');
  rmSync(log, { force: true });
  const counts = Object.fromEntries(
    [...tap.matchAll(/^# (pass|fail|skipped|duration_ms) ([\d.]+)$/gm)].map((m) => [m[1]!, Number(m[2])]),
  );
  console.log(
    `\n${counts.pass ?? 0} passed, ${counts.fail ?? 0} failed, ${counts.skipped ?? 0} skipped\n(${name}, ${Math.round((counts.duration_ms ?? 0) / 1000)} s)`,
  );
  if (values.times) printTimes(times);
  const skips = [...tap.matchAll(/^\s*ok \d+ - (.*?) # SKIP ?(.*)$/gm)].map(
    (m) => `${m[1]}${m[2] ? `: ${m[2]}` : ''}`,
  );
  return { status: status ?? 1, skipped: skips };
}

function timesTo(file: string): readonly string[] {
  return [
    // One for each reporter is one too many for the stream of events.
    '--disable-warning=MaxListenersExceededWarning',
    '--test-reporter=./scripts/file-times.ts',
    `--test-reporter-destination=${file}`,
  ];
}

/** Of two that run at a time: the sum is about twice what all of them took. */
function printTimes(log: string): void {
  const rows = readFileSync(log, 'utf8').matchAll(/^(\d+) (.+)$/gm);
  rmSync(log, { force: true });
  const sorted = [...rows].map((m) => ({ ms: Number(m[1]), file: m[2]! })).sort((a, b) => b.ms - a.ms);
  const sum = sorted.reduce((total, { ms }) => total + ms, 0);
  console.log(`\nSeconds of the slowest files, of ${Math.round(sum / 1000)} in all:`);
  for (const { ms, file } of sorted.slice(0, SHOWN))
    console.log(`${(ms / 1000).toFixed(1).padStart(8)}  ${relative(root, file)}`);
}
