// Owns: one MCP client on standard input and output: told the tools at once, served by the runtime from then on.
// Refuses: to open the runtime before the client was answered, and to print anything but MCP on standard output.
import { ERRORS, toErrorEntry } from '../contract/errors.ts';
import { VERSION } from '../contract/version.ts';
import { readCatalogue, writeCatalogue } from '../hosts/mcp/catalogue.ts';
import { serveStdio } from '../hosts/mcp/serve-stdio.ts';
import { standardPipes } from '../hosts/mcp/standard-pipes.ts';
import { DEFAULT_VIEW, type McpView } from '../hosts/mcp/view.ts';
import type { DefaultRuntime } from '../preset/default.ts';

export interface McpServing {
  readonly workspace: string;
  open(): Promise<DefaultRuntime>;
  /** Standard error: the log. */
  say(text: string): void;
  /** What the client chose to see; absent: the default. */
  readonly view?: McpView;
}

/** Runs of dead processes are looked after once the client's first questions are answered. */
const RECOVER_AFTER_MS = 1000;

/** A client that never asks for the list finds an open runtime all the same. */
const OPEN_AFTER_MS = 1000;

/** Answers with the exit code once the client hung up. */
export async function serveMcp({ workspace, open, say, view = DEFAULT_VIEW }: McpServing): Promise<number> {
  const kept = readCatalogue(workspace, view);
  let opened: Promise<DefaultRuntime> | undefined;
  let unfollow: (() => void) | undefined;
  let recovering: NodeJS.Timeout | undefined;
  let unheard: (() => void) | undefined;
  let exit = 0;

  const start = async (): Promise<DefaultRuntime> => {
    try {
      const runtime = await open();
      // Until the servers have said which tools they have, the list is not what it will be in a moment.
      void runtime.installations.settle().then(async () => {
        ({ listTools } = await import('../hosts/mcp/list-tools.ts'));
        tellTruth(runtime);
      });
      const { followWorkspace } = await import('../preset/follow-workspace.ts');
      unfollow = followWorkspace(runtime, say, () => soon(runtime));
      recovering = setTimeout(async () => {
        const { recoverRuns } = await import('../operations/recover-runs.ts');
        unheard = recoverRuns(runtime.runs, say);
      }, RECOVER_AFTER_MS);
      exit = 0;
      return runtime;
    } catch (thrown) {
      const error = toErrorEntry(thrown);
      say((await import('../contract/error-remedies.ts')).explainError(error));
      exit = ERRORS[error.reason].exit;
      if (error.reason === 'policy.untrusted') await awaitTrust();
      throw thrown;
    }
  };
  /** Somebody may trust the policy, or change it, while the client is here: then there are tools after all. */
  const awaitTrust = async (): Promise<void> => {
    const { followTrust } = await import('../preset/follow-workspace.ts');
    const { watchFiles } = await import('../loader/watch-files.ts');
    const again = () => {
      end();
      opened = undefined;
      judged = undefined;
      runtime().then(server.toolsChanged, () => {});
    };
    const ends = [followTrust(workspace, again), watchFiles(workspace, ['haft.yaml', 'haft.lock'], again)];
    const end = () => {
      for (const one of ends) one();
    };
    unfollow = end;
  };
  let judged: Promise<string | undefined> | undefined;
  /** Where the tools are known from before, the policy is as it was then, and so is the trust in it. */
  const untrusted = (): Promise<string | undefined> => {
    judged ??= !opened && kept !== undefined ? Promise.resolve(undefined) : whyUntrusted(workspace);
    return judged;
  };
  const runtime = (): Promise<DefaultRuntime> => {
    opened ??= start();
    opened.catch(() => {});
    return opened;
  };
  let told = kept;
  /** Once the servers have said which tools they have. */
  let listTools: typeof import('../hosts/mcp/list-tools.ts').listTools | undefined;
  /** Keeps what is true for the next start, and tells a client that was told otherwise. */
  const tellTruth = (live: DefaultRuntime): void => {
    const tools = listTools?.(live, view);
    if (tools === undefined || tools === told) return;
    // Before the first answer out of an open runtime there is nothing to take back.
    if (told !== undefined) server.toolsChanged();
    told = tools;
    writeCatalogue(workspace, view, tools);
  };
  /** A pack that is replaced tells several times in one turn. */
  let due = false;
  const soon = (live: DefaultRuntime): void => {
    if (due || !listTools) return;
    due = true;
    setImmediate(() => {
      due = false;
      tellTruth(live);
    });
  };

  let isListed = false;
  const server = serveStdio(runtime, VERSION, {
    ...standardPipes(() => !isListed && !opened && server.isSettled()),
    view,
    untrusted,
    catalogue() {
      if (opened || kept === undefined) return undefined;
      isListed = true;
      setImmediate(runtime);
      return kept;
    },
  });
  if (kept === undefined) runtime();
  const later = setTimeout(runtime, OPEN_AFTER_MS);
  await server.ended;
  clearTimeout(later);
  await opened?.catch(() => {});
  clearTimeout(recovering);
  unheard?.();
  unfollow?.();
  return exit;
}

async function whyUntrusted(workspace: string): Promise<string | undefined> {
  const { loadTrusted } = await import('../preset/adopt-policy.ts');
  const { givenTrust } = await import('../preset/trust/trust.ts');
  try {
    await loadTrusted(workspace, givenTrust(undefined));
    return undefined;
  } catch (thrown) {
    const { message, reason } = toErrorEntry(thrown);
    return reason === 'policy.untrusted' ? `There are no tools here. ${message}` : undefined;
  }
}
