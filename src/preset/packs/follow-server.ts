// Owns: a server over time: asked again for its tools when they changed or it was lost; asked once for all while nobody knows them yet.
// Refuses: to let a call leave for what nobody accepted, to forget what is known because it could not be asked, and to ask again and again what just failed.
import type { Discovery, ServerAdapter, ServerConnection } from '../../adapters/server-adapter.ts';
import { orAborted } from '../../base/or-aborted.ts';
import type { Adapter } from '../../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { Installation } from '../../contract/manifest.ts';
import type { AbsentPack } from '../../contract/runtime.ts';

interface FollowOptions {
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
function awaitServer(look: () => Promise<unknown>, signal: AbortSignal): void {
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

interface AbsentServerSite extends Pick<FollowOptions, 'told' | 'signal'> {
  readonly name: string;
  look(): Promise<Discovery>;
  /** The host stays: it is asked at once, and again until it is there. */
  readonly living: boolean;
  /** What is known from before. */
  readonly last: LastAbsence | undefined;
  keep(absence: LastAbsence | undefined): void;
  readonly onWarning: (message: string) => void;
}

export interface LastAbsence {
  readonly message: string;
  readonly at: number;
  readonly details?: Failure['details'];
}

/** Within this time a listing does not wait for it again, and after a failure calls are told so before it is asked once more. */
const RECENT_MS = 10 * 60_000;
const REST_MS = 2_000;

export function createAbsentServer(site: AbsentServerSite): AbsentPack {
  const { name, told, signal, living } = site;
  let last = site.last;
  let found = false;
  let warned: string | undefined;
  let failedAt: number | undefined;
  let asking: Promise<Discovery> | undefined;

  const note = (failure: Failure) => {
    const { message, details } = failure;
    last = { message, at: Date.now(), ...(details ? { details } : {}) };
    site.keep(last);
    if (warned === message) return;
    warned = message;
    site.onWarning(`The tools of "${name}" are not known: ${message}`);
  };
  const look = (): Promise<Discovery> => {
    asking ??= site
      .look()
      .catch((thrown: unknown) => {
        const failure = isFailure(thrown)
          ? thrown
          : fail('tool.unhealthy', `Cannot reach "${name}": ${(thrown as Error).message}`);
        if (!signal.aborted) note(failure);
        failedAt = performance.now();
        throw failure;
      })
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };
  /** Its tools are in the registry when it settles. */
  const take = async (what: Discovery): Promise<void> => {
    found = true;
    try {
      await told(what);
    } catch (thrown) {
      found = false;
      failedAt = performance.now();
      if (isFailure(thrown) && !signal.aborted) note(thrown);
      throw thrown;
    }
    last = undefined;
    site.keep(undefined);
  };
  let taking: Promise<void> | undefined;
  const ask = (): Promise<void> => {
    taking ??= look()
      .then(take)
      .finally(() => {
        taking = undefined;
      });
    taking.catch(() => {});
    return taking;
  };
  const isResting = () => failedAt !== undefined && performance.now() - failedAt < REST_MS;

  if (living) ask().catch(() => awaitServer(() => ask(), signal));
  return {
    get last() {
      return last;
    },
    get known() {
      return found;
    },
    get isRecent() {
      return last !== undefined && Date.now() - last.at < RECENT_MS;
    },
    slow(ms) {
      if (!found && taking)
        note(fail('tool.unhealthy', `Cannot reach "${name}": it did not answer within ${ms} ms`));
    },
    ask(waiting) {
      if (found) return Promise.resolve();
      if (isResting() && last) return Promise.reject(fail('tool.unhealthy', last.message, last.details));
      return orAborted(ask(), waiting);
    },
  };
}
