// Owns: the runtime of a command or a host, and what its log is told.
// Refuses: to close it; whoever opens it does.
import { createDefaultRuntime, type DefaultRuntime } from './default.ts';

interface RuntimeUse {
  readonly frozen?: boolean;
  readonly living?: boolean;
  /** Only what was recorded is asked for. */
  readonly reads?: boolean;
  /** A pack that is wrong is left out, and said. */
  readonly lenient?: boolean;
  /** It changes nothing: where there is no `.haft` none is made. */
  readonly looks?: boolean;
}

/** Standard error is the log: what an earlier process left undone, and the words of a bug, which no caller gets. */
export async function openHost(
  workspace: string,
  say: (text: string) => void,
  { frozen = false, living = false, reads = false, lenient = reads, looks = false }: RuntimeUse = {},
): Promise<DefaultRuntime> {
  const options = {
    workspace,
    // What a command is about may have nothing to do with any server.
    serversMs: 0,
    untrusted: reads ? 'closed' : 'refuse',
    lock: !lenient && (frozen || isFrozen(process.env)) ? 'frozen' : 'hold',
    ...(lenient
      ? { onBrokenPack: (message: string) => say(`haft: a pack is left out here: ${message}\n`) }
      : {}),
    ...(living ? { living, onWarning: (message: string) => say(`haft: ${message}\n`) } : {}),
  } as const;
  const runtime = looks
    ? await (await import('../loader/empty-state.ts')).openToLook(workspace, (state) =>
        createDefaultRuntime(options, state),
      )
    : await createDefaultRuntime(options);
  for (const { tool, callId, changes } of runtime.startup.inFlight) {
    const next =
      changes.length > 0 ? `"haft undo ${callId}" takes back what it did` : 'what it changed is not known';
    say(`haft: ${tool} (${callId}) was in flight when its process died; ${next}\n`);
  }
  runtime.subscribe(({ event, data }) => {
    if (event === 'InternalError') say(`haft: ${(data as { stack: string }).stack}\n`);
  });
  return runtime;
}

export const isFrozenRun = ({ frozen }: { readonly frozen?: unknown }): boolean =>
  frozen === true || isFrozen(process.env);

/** HAFT_FROZEN=1 holds for every command, as `--frozen` does for one. */
const isFrozen = ({ HAFT_FROZEN: given = '' }: NodeJS.ProcessEnv): boolean =>
  !['', '0', 'false', 'no'].includes(given.toLowerCase());
