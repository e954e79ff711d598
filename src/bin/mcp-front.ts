// Owns: the short way to `haft mcp`: a client is answered before the rest of the program is even read.
// Refuses: flags other than the workspace; the command line in full takes those.
import { ERRORS, toErrorEntry } from '../contract/errors.ts';
import { printable } from '../contract/terminal-text.ts';
import { findWorkspace } from '../loader/workspace.ts';
import type { DefaultRuntime } from '../preset/default.ts';
import { serveMcp } from './serve-mcp.ts';

export async function mcpFront(given: string | undefined): Promise<void> {
  try {
    process.exitCode = await serve(findWorkspace(given));
  } catch (thrown) {
    const error = toErrorEntry(thrown);
    say((await import('../contract/error-remedies.ts')).explainError(error));
    process.exitCode = ERRORS[error.reason].exit;
  }
}

async function serve(workspace: string): Promise<number> {
  let runtime: DefaultRuntime | undefined;
  const exit = await serveMcp({
    workspace,
    say,
    async open() {
      const { openHost } = await import('../preset/open-host.ts');
      runtime = await openHost(workspace, say, { living: true });
      return runtime;
    },
  });
  await runtime?.close();
  return exit;
}

/** Where nobody reads the log any more the client is served all the same. */
function say(text: string): void {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => {});
  process.stderr.write(printable(text));
}
