// Owns: a server whose tools nobody knows yet: who asks it, once for all that wait, and why it was not there the last time.
// Refuses: to let anybody wait who does not need it, and to ask again and again what has just failed.
import type { Discovery } from '../../adapters/server-adapter.ts';
import { orAborted } from '../../base/or-aborted.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { AbsentPack } from '../../contract/runtime.ts';
import { awaitServer, type FollowOptions } from './follow-server.ts';

export interface AbsentServerSite extends Pick<FollowOptions, 'told' | 'signal'> {
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

  if (living) {
    ask().catch(() => awaitServer(() => ask(), signal));
  }
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
