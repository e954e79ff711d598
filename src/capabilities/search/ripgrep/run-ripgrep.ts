// Owns: one run of ripgrep, and what its end means.
// Refuses: to pass its own words on, but for what is wrong with a pattern.
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
  if (/^\S*sh: /.test(first)) {
    return fail('path.not_found', 'Cannot search: the workspace folder cannot be entered');
  }
  const named = lines.findLast((line) => line.startsWith('error: '))?.slice('error: '.length);
  const problem = named ?? first.replace(/^rg: /, '');
  const shown = /"\\n" is not allowed/.test(problem)
    ? 'a line break is only matched with multiline'
    : problem;
  return fail('input.pattern', `Cannot search for the pattern: ${shown.slice(0, 300)}`);
}
