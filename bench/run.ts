// Owns: `npm run bench`: every subject in turn, each in its own process, and the results.
// Refuses: to measure anything itself, and to write RESULTS.md unless it is asked to with --write.
import { fork, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeRunFolder } from './fixtures.ts';
import type { Line, Subject } from './measure.ts';
import { timedEnvironment } from './processes.ts';
import { HAFT, ROOT } from './product.ts';
import { describeLine, report } from './report.ts';
import { keptSections } from './sections.ts';
import { SUBJECTS } from './subjects/index.ts';

await main();

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      'no-build': { type: 'boolean', default: false },
    },
  });
  const [filter = ''] = positionals;
  const subjects = SUBJECTS.filter(({ name, group }) => group === filter || name.includes(filter));
  if (subjects.length === 0) {
    console.error(`No subject has "${filter}" in its name: ${SUBJECTS.map(({ name }) => name).join(', ')}`);
    process.exitCode = 64;
    return;
  }
  const [load = 0] = loadavg();
  if (!values['no-build']) build();
  const folder = makeRunFolder();
  const start = performance.now();
  const lines: Line[] = [];
  const failed: string[] = [];
  for (const subject of subjects) {
    console.log(`\n${subject.name} (after ${since(start)} s)`);
    const code = await measure(subject, { quick: values.quick, folder }, (line) => {
      lines.push(line);
      console.log(`  ${describeLine(line)}`);
    });
    if (code !== 0) failed.push(subject.name);
  }
  const seconds = since(start);
  const missed = lines.filter(({ met }) => met === false);
  const goals = lines.filter(({ goal }) => goal);
  console.log(`\n${goals.length - missed.length} of ${goals.length} goals met, in ${seconds} s`);
  if (failed.length > 0) console.error(`Could not measure: ${failed.join(', ')}`);
  if (values.write) {
    const quick = values.quick;
    writeFileSync(
      join(ROOT, 'bench/RESULTS.md'),
      report({ subjects, lines, failed, seconds, quick, load }) + keptSections(),
    );
  }
  process.exitCode = failed.length > 0 ? 1 : 0;
}

function since(start: number): number {
  return Math.round((performance.now() - start) / 1000);
}

function build(): void {
  const { status } = spawnSync(process.execPath, ['scripts/build.ts'], { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0 || !existsSync(HAFT)) {
    console.error('The product does not build; there is nothing to measure');
    process.exit(1);
  }
}

/** Answers with the exit code of the measuring process. */
function measure(
  subject: Subject,
  { quick, folder }: { readonly quick: boolean; readonly folder: string },
  onLine: (line: Line) => void,
): Promise<number> {
  return new Promise((resolve) => {
    const child = fork(
      join(ROOT, 'bench/subject-process.ts'),
      [subject.name, ...(quick ? ['--quick'] : [])],
      {
        execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
        env: { ...timedEnvironment(), HAFT_BENCH_FOLDER: folder },
      },
    );
    child.on('message', (line) => onLine(line as Line));
    child.once('close', (code) => resolve(code ?? 1));
  });
}
