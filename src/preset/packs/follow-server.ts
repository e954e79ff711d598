// Owns: a server that is running: asked again for its tools when it says that they changed, or was lost and found.
// Refuses: to let a call leave for what nobody accepted, and to forget what is known because the server could not be asked.
import { orAborted } from '../../adapters/pace.ts';
import type { Adapter, AdapterConnection } from '../../contract/adapter.ts';
import { fail } from '../../contract/errors.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';

/** An adapter whose other side says which tools it has. */
export interface ServerAdapter extends Adapter {
  open(installation: Installation, tools: readonly BoundTool[]): ServerConnection;
}

export interface ServerConnection extends AdapterConnection {
  discover(signal: AbortSignal): Promise<Discovery>;
  /** Told when it is time to discover again. */
  onChange?(listener: () => void): () => void;
}

export interface Discovery {
  readonly tools: readonly BoundTool[];
  readonly problems: readonly string[];
}

export interface FollowOptions {
  /** Settles when it is taken over. */
  told(found: Discovery): Promise<void>;
  /** Why a tool of it cannot be called by now; undefined where it can. */
  barred(id: string): string | undefined;
  /** What is known of it is from another time: it is asked before the first call leaves. */
  readonly doubtful: boolean;
  /** Aborts when nobody is interested any more. */
  readonly signal: AbortSignal;
}

/** A server that does not say within this time what it has is not there. */
export const DISCOVERY_MS = 20_000;

export function followServer(adapter: ServerAdapter, options: FollowOptions): Adapter {
  let doubtful = options.doubtful;
  return {
    ...adapter,
    open(installation, tools) {
      const connection = adapter.open(installation, tools);
      const ask = createAsking(connection, options);
      connection.onChange?.(() => void ask());
      let asked: Promise<void> | undefined;
      const { invoke } = connection;
      const invokeDoubtful: typeof invoke = async (invocation) => {
        asked ??= ask().then((fine) => {
          doubtful = !fine;
          asked = undefined;
        });
        await orAborted(asked, invocation.signal);
        const why = options.barred(invocation.tool);
        if (why !== undefined) throw fail('tool.changed', why);
        return invoke(invocation);
      };
      return Object.assign(connection, {
        invoke: (invocation: Parameters<typeof invoke>[0]) =>
          doubtful ? invokeDoubtful(invocation) : invoke(invocation),
      });
    },
  };
}

/** Answers whether it could be asked. However often it is told meanwhile, once more is enough. */
function createAsking(
  connection: ServerConnection,
  { told, signal }: Pick<FollowOptions, 'told' | 'signal'>,
): () => Promise<boolean> {
  let asking: Promise<boolean> | undefined;
  let again = false;
  const ask = async (): Promise<boolean> => {
    for (;;) {
      again = false;
      const within = AbortSignal.any([signal, AbortSignal.timeout(DISCOVERY_MS)]);
      // When it is lost once more, it is asked again once it is found.
      const found = await connection.discover(within).catch(() => undefined);
      if (signal.aborted || !found) return false;
      if (!again) await told(found);
      if (!again) return true;
    }
  };
  return () => {
    again = asking !== undefined;
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** Looks again and again for a server that was not there, more and more seldom, and tells once when it is. */
export function awaitServer(
  look: () => Promise<Discovery>,
  { told, signal }: Pick<FollowOptions, 'told' | 'signal'>,
): void {
  let pause = FIRST_PAUSE_MS;
  const later = () => {
    if (signal.aborted) return;
    const timer = setTimeout(async () => {
      signal.removeEventListener('abort', stop);
      const found = await look().catch(() => undefined);
      if (found && !signal.aborted) void told(found);
      else later();
    }, pause);
    const stop = () => clearTimeout(timer);
    signal.addEventListener('abort', stop, { once: true });
    timer.unref();
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  };
  later();
}
