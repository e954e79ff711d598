// Owns: the folders that benchmarks work in, all below the system's temporary folder.
// Refuses: to delete many files while others are measured: ext4 makes the creates of the next minutes slow.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { timedEnvironment } from './processes.ts';
import { HAFT } from './product.ts';
// Trust in what these write is kept for this run alone.
import '../src/preset/trust/trust-for-tests.ts';

/** A fresh folder. It is removed when the whole run ends. */
export function makeFolder(): string {
  const all = process.env.HAFT_BENCH_FOLDER;
  if (all === undefined) throw new Error('Start the benchmarks with bench/run.ts');
  return realpathSync.native(mkdtempSync(join(all, 'subject-')));
}

/** The folder of all subjects of a run, removed when this process ends. */
export function makeRunFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'haft-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  return folder;
}

/** A fresh folder with the policy that `haft init` writes. */
export function makeWorkspace(folder = makeFolder()): string {
  const init = spawnSync(process.execPath, [HAFT, 'init'], { cwd: folder, env: timedEnvironment() });
  if (init.status !== 0) throw new Error(`haft init failed: ${init.stderr}`);
  return folder;
}

/** Text like source code: short lines, some quotes, exactly `size` bytes. */
export function sourceText(size: number): string {
  const line = (i: number) => `export const value${i} = compute("part ${i}", { depth: ${i % 7} }); // keep\n`;
  let text = '';
  for (let i = 0; text.length < size; i++) text += line(i);
  return `${text.slice(0, size - 1)}\n`;
}

/** `count` files of `size` bytes: `name0.ts`, `name1.ts`, … Answers with their names below the workspace. */
export function makeFiles(workspace: string, name: string, count: number, size: number): string[] {
  const text = sourceText(size);
  return Array.from({ length: count }, (_, i) => {
    const path = `${name}${i}.ts`;
    writeFileSync(join(workspace, path), text);
    return path;
  });
}

/** One folder with `count` small files. */
export function makeFlatFolder(workspace: string, name: string, count: number): void {
  mkdirSync(join(workspace, name));
  for (let i = 0; i < count; i++) writeFileSync(join(workspace, name, `entry-${i}.txt`), 'x\n');
}

export const TREE = { files: 20_000, matching: 200, ignored: 1_000 } as const;

/**
 * A repository of 20,000 files in 200 folders, three levels deep, every hundredth of them `*.spec.ts`, and
 * beside them files that `.gitignore` ignores.
 */
export function makeTree(workspace: string): void {
  const perFolder = 100;
  // What makes it a repository, for ripgrep: ignore rules hold only in one.
  mkdirSync(join(workspace, '.git'));
  writeFileSync(join(workspace, '.gitignore'), 'build/\n*.log\n/haft.yaml\n.gitignore\n');
  for (let folder = 0; folder < TREE.files / perFolder; folder++) {
    const path = join(workspace, `area-${folder % 10}`, `part-${folder % 40}`, `unit-${folder}`);
    mkdirSync(path, { recursive: true });
    for (let i = 0; i < perFolder; i++)
      writeFileSync(join(path, i === 50 ? `check-${i}.spec.ts` : `module-${i}.ts`), 'x\n');
    writeFileSync(join(path, 'trace.log'), 'x\n');
  }
  mkdirSync(join(workspace, 'build'));
  for (let i = 0; i < TREE.ignored - TREE.files / perFolder; i++)
    writeFileSync(join(workspace, 'build', `output-${i}.js`), 'x\n');
}
