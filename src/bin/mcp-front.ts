// Owns: the short way to `haft mcp`: a client is answered before the rest of the program is even read.
// Refuses: flags other than the workspace; the command line in full takes those.
import { ERRORS, toErrorEntry } from '../contract/errors.ts';
import type { Io } from '../hosts/cli/command.ts';
import { processIo } from '../hosts/cli/io.ts';
import { describeError } from '../hosts/cli/output.ts';
import { findWorkspace } from '../hosts/cli/workspace.ts';
import type { DefaultRuntime } from '../preset/default.ts';
import { serveMcp } from './serve-mcp.ts';

export async function mcpFront(given: string | undefined): Promise<void> {
  const io = processIo();
  try {
    process.exitCode = await serve(findWorkspace(given), io);
  } catch (thrown) {
    const error = toErrorEntry(thrown);
    io.err(describeError(error));
    process.exitCode = ERRORS[error.reason].exit;
  }
}

async function serve(workspace: string, io: Io): Promise<number> {
  let runtime: DefaultRuntime | undefined;
  const exit = await serveMcp({
    workspace,
    say: io.err,
    async open() {
      const { openRuntime } = await import('../hosts/cli/open-runtime.ts');
      runtime = await openRuntime(workspace, io, { living: true });
      return runtime;
    },
  });
  await runtime?.close();
  return exit;
}
