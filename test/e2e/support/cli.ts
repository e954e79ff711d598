// Owns: the command line in this process: the same code as `haft`, without the cost of starting it.
// Refuses: to stand for start-up itself; `haft.ts` runs the real program.
import { runForTests } from '../../../src/hosts/cli/run-for-tests.ts';
import type { Ran } from './haft.ts';

/** `cli(root, 'audit', 'verify')` is `haft audit verify --workspace root`. */
export async function cli(root: string, ...argv: readonly string[]): Promise<Ran> {
  const { exit, out, err } = await runForTests([...argv, '--workspace', root]);
  return { status: exit, stdout: out, stderr: err };
}

/** The same with --json; answers the one document. */
export async function cliJson(root: string, ...argv: readonly string[]) {
  const { status, stdout, stderr } = await cli(root, ...argv, '--json');
  return { status, stderr, document: JSON.parse(stdout) };
}
