// Owns: a server that is running: asked again for its tools when it says that they changed, or was lost and found.
// Refuses: to hold a call up, and to forget what is known because the server could not be asked.
import type { Adapter, AdapterConnection } from '../../contract/adapter.ts';
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
  told(found: Discovery): void;
  /** What is known of it is from another time: it is asked once it was reached by a call. */
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
      const ask = askInTurn(connection, options);
      connection.onChange?.(ask);
      const { invoke } = connection;
      return Object.assign(connection, {
        invoke(invocation: Parameters<typeof invoke>[0]) {
          const answer = invoke(invocation);
          if (!doubtful) return answer;
          doubtful = false;
          answer.then(ask, ask);
          return answer;
        },
      });
    },
  };
}

/** However often it is told meanwhile, once more is enough. */
function askInTurn(connection: ServerConnection, { told, signal }: FollowOptions): () => void {
  let asking = false;
  let again = false;
  const ask = async (): Promise<void> => {
    again = true;
    if (asking) return;
    asking = true;
    while (again && !signal.aborted) {
      again = false;
      const within = AbortSignal.any([signal, AbortSignal.timeout(DISCOVERY_MS)]);
      // When it is lost once more, it is asked again once it is found.
      const found = await connection.discover(within).catch(() => undefined);
      if (found && !again && !signal.aborted) told(found);
    }
    asking = false;
  };
  return () => void ask();
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** Looks again and again for a server that was not there, more and more seldom, and tells once when it is. */
export function awaitServer(
  look: () => Promise<Discovery>,
  { told, signal }: Omit<FollowOptions, 'doubtful'>,
): void {
  let pause = FIRST_PAUSE_MS;
  const later = () => {
    if (signal.aborted) return;
    const timer = setTimeout(async () => {
      signal.removeEventListener('abort', stop);
      const found = await look().catch(() => undefined);
      if (found && !signal.aborted) told(found);
      else later();
    }, pause);
    const stop = () => clearTimeout(timer);
    signal.addEventListener('abort', stop, { once: true });
    timer.unref();
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  };
  later();
}
