// Owns: which ripgrep is used (the one that came with Haft, else the first on the PATH), one run of it, and what its end means.
// Refuses: one that lies in the workspace, where an agent could have put it: it runs outside of any sandbox. To pass its own words
// on, but for what is wrong with a pattern.
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { type Failure, fail } from '../../../contract/errors.ts';
import type { ShellPool } from './shell-pool.ts';

export interface Ripgrep {
  /** Absolute. */
  readonly path: string;
  readonly shells: ShellPool;
}

export interface RunOptions {
  readonly cwd: string;
  readonly extraInput?: string | undefined;
  readonly signal: AbortSignal;
  /** Answering false ends the run. */
  onOutput(chunk: Buffer): boolean;
}

export interface RunEnd {
  /** `onOutput` ended it. */
  readonly stopped: boolean;
  /** Files and folders that could not be read. */
  readonly unreadable: number;
}

const FOUND = 0;
const NOTHING_FOUND = 1;
const TROUBLE = 2;

export async function runRipgrep(
  { path, shells }: Ripgrep,
  args: readonly string[],
  { cwd, extraInput, signal, onOutput }: RunOptions,
): Promise<RunEnd> {
  let stopped = false;
  let printed = false;
  const { code, complaints } = await shells.run(
    {
      path,
      args,
      cwd,
      extraInput,
      onOutput(chunk) {
        printed = true;
        stopped ||= !onOutput(chunk);
        return !stopped;
      },
    },
    signal,
  );
  if (stopped || code === FOUND || code === NOTHING_FOUND) return { stopped, unreadable: 0 };
  if (code !== TROUBLE) throw fail('tool.failed', `Cannot search: ripgrep ended early (${code ?? 'killed'})`);
  const lines = complaints.split('\n').filter((line) => line.trim() !== '');
  if (!printed && !isAboutFile(lines[0])) throw troubleOf(lines);
  return { stopped, unreadable: lines.filter(isAboutFile).length };
}

const isAboutFile = (line: string | undefined) => line !== undefined && /\(os error \d+\)$/.test(line);

function troubleOf(lines: readonly string[]): Failure {
  const [first = ''] = lines;
  if (/^\S*sh: /.test(first))
    return fail('path.not_found', 'Cannot search: the workspace folder cannot be entered');
  const named = lines.findLast((line) => line.startsWith('error: '))?.slice('error: '.length);
  const problem = named ?? first.replace(/^rg: /, '');
  const shown = /"\\n" is not allowed/.test(problem)
    ? 'a line break is only matched with multiline'
    : problem;
  return fail('input.pattern', `Cannot search for the pattern: ${shown.slice(0, 300)}`);
}

/** Its absolute path; undefined where there is none that can be used. `bundled: false`: only those of the PATH. */
export async function findRipgrep(
  roots: readonly string[],
  from: { readonly bundled?: boolean; readonly path?: string } = {},
): Promise<string | undefined> {
  const { bundled = true, path = process.env.PATH ?? '' } = from;
  if (!isProgram('/bin/sh')) return undefined;
  return (bundled ? await inPackage() : undefined) ?? onPath(path, roots);
}

/** Held in a variable, so that bundlers leave it where it is: its path is what is asked for. */
const PACKAGE = '@vscode/ripgrep';

async function inPackage(): Promise<string | undefined> {
  try {
    const { rgPath } = (await import(PACKAGE)) as { readonly rgPath: string };
    return isProgram(rgPath) ? rgPath : undefined;
  } catch {
    return undefined; // not installed, or not for this machine
  }
}

function onPath(folders: string, roots: readonly string[]): string | undefined {
  for (const folder of folders.split(':')) {
    if (!folder.startsWith('/')) continue;
    const path = `${folder}/rg`;
    if (!isProgram(path)) continue;
    const real = realpathSync.native(path);
    if (!roots.some((root) => real.startsWith(`${root}/`) || path.startsWith(`${root}/`))) return real;
  }
  return undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
