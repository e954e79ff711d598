// Owns: a server that is running: asked again for its tools when it says that they changed, or was lost and found.
// Refuses: to let a call leave for what nobody accepted, and to forget what is known because the server could not be asked.
import type { Discovery, ServerAdapter, ServerConnection } from '../../adapters/server-adapter.ts';
import { orAborted } from '../../base/or-aborted.ts';
import type { Adapter } from '../../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Installation } from '../../contract/manifest.ts';

export interface FollowOptions {
  /** Settles when it is taken over. */
  told(found: Discovery): Promise<void>;
  /** Why a tool of it cannot be called by now; undefined where it can. */
  barred(id: string): string | undefined;
  /** What its sandbox refused it, by its own words, and what would grant it. */
  explain(text: string): string | undefined;
  /** What is known of it is from another time: it is asked before the first call leaves. */
  readonly doubtful: boolean;
  /** Aborts when nobody is interested any more. */
  readonly signal: AbortSignal;
}

/** How long a server has to say what it has, once it may have begun to answer at all. */
const LISTING_MS = 10_000;
const START_MS = 20_000;

/** Asks it for its tools; one that does not say within its time what it has is not there. */
export async function discoverInTime(
  connection: Pick<ServerConnection, 'discover'>,
  { name, config }: Pick<Installation, 'name' | 'config'>,
  signal: AbortSignal,
): Promise<Discovery> {
  const { start_timeout_ms: given } = config;
  const ms = (typeof given === 'number' ? given : START_MS) + LISTING_MS;
  const late = AbortSignal.timeout(ms);
  try {
    return await connection.discover(AbortSignal.any([signal, late]));
  } catch (thrown) {
    if (!late.aborted || signal.aborted || isFailure(thrown)) throw thrown;
    const fact = `it did not say within ${ms} ms which tools it has`;
    throw fail('tool.unhealthy', `Cannot reach "${name}": ${fact}`, { timed_out: true });
  }
}

export function followServer(adapter: ServerAdapter, options: FollowOptions): Adapter {
  let doubtful = options.doubtful;
  return {
    ...adapter,
    open(installation, tools) {
      const connection = adapter.open(installation, tools);
      const ask = createAsking(connection, installation, options);
      connection.onChange(() => void ask());
      let asked: Promise<Failure | undefined> | undefined;
      const { invoke: send } = connection;
      const invoke: typeof send = async (invocation) => {
        const result = await send(invocation).catch((thrown) => {
          throw explained(thrown, options.explain);
        });
        if (result.ok) return result;
        const hint = options.explain(result.message);
        return hint === undefined ? result : { ...result, message: `${result.message} (${hint})` };
      };
      const invokeDoubtful: typeof invoke = async (invocation) => {
        asked ??= ask().then((why) => {
          doubtful = why !== undefined;
          asked = undefined;
          return why;
        });
        const down = await orAborted(asked, invocation.signal);
        // It had its time; whoever waited for it does not wait for it once more.
        if (down?.details?.timed_out === true) throw down;
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

/** With what its sandbox refused it, where its last words tell. */
export function explained(thrown: unknown, explain: FollowOptions['explain']): unknown {
  if (!isFailure(thrown)) return thrown;
  const { message, details } = thrown;
  const { stderr } = details ?? {};
  const hint = explain(typeof stderr === 'string' ? `${stderr}\n${message}` : message);
  if (hint === undefined) return thrown;
  return Object.assign(thrown, { message: `${message} (${hint})`, details: { ...details, hint } });
}

/** Answers with why it could not be asked. However often it is told meanwhile, once more is enough. */
function createAsking(
  connection: ServerConnection,
  installation: Installation,
  { told, signal }: Pick<FollowOptions, 'told' | 'signal'>,
): () => Promise<Failure | undefined> {
  let asking: Promise<Failure | undefined> | undefined;
  let again = false;
  const ask = async (): Promise<Failure | undefined> => {
    for (;;) {
      again = false;
      // When it is lost once more, it is asked again once it is found.
      const found = await discoverInTime(connection, installation, signal).catch((thrown: Error) => thrown);
      if (signal.aborted) return GONE;
      if (found instanceof Error) return isFailure(found) ? found : GONE;
      // What cannot be taken over was said.
      if (!again) await told(found).catch(() => {});
      if (!again) return undefined;
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

const GONE = fail('tool.unhealthy', 'Cannot ask the server for its tools');

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** Looks again and again for a server that was not there, more and more seldom, until a look succeeds. */
export function awaitServer(look: () => Promise<unknown>, signal: AbortSignal): void {
  let pause = FIRST_PAUSE_MS;
  const later = () => {
    if (signal.aborted) return;
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      look().catch(later);
    }, pause);
    const stop = () => clearTimeout(timer);
    signal.addEventListener('abort', stop, { once: true });
    timer.unref();
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  };
  later();
}
