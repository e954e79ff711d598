// Owns: the command line in this process: the same code as `haft`, without the cost of starting it.
// Refuses: to stand for start-up itself; `haft.ts` runs the real program.
import { COMMANDS } from '../../../src/bin/main.ts';
import { runCli } from '../../../src/hosts/cli/run-cli.ts';
import type { Ran } from './haft.ts';

/** `cli(root, 'audit', 'verify')` is `haft audit verify --workspace root`. */
export async function cli(root: string, ...argv: readonly string[]): Promise<Ran> {
  let stdout = '';
  let stderr = '';
  const status = await runCli([...argv, '--workspace', root], COMMANDS, {
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
    tty: false,
    columns: 80,
    readStdin: async () => new Uint8Array(),
    bytes() {},
    async *stdin() {},
    signal: new AbortController().signal,
  });
  return { status, stdout, stderr };
}

/** The same with --json; answers the one document. */
export async function cliJson(root: string, ...argv: readonly string[]) {
  const { status, stdout, stderr } = await cli(root, ...argv, '--json');
  return { status, stderr, document: JSON.parse(stdout) };
}
