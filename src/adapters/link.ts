// Owns: one connection to the other side: opened on demand, reopened when it was lost, closed when idle; and an adapter connection over it.
// Refuses: to send anything; it hands out what is open, and whoever uses it knows what was sent.
import { orAborted } from '../base/or-aborted.ts';
import type { AdapterConnection, Invocation, InvocationResult } from '../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../contract/errors.ts';
import type { BoundTool } from '../contract/manifest.ts';
import type { BreakerOptions, CircuitBreaker } from './attempts.ts';
import { attempt, createCircuitBreaker, isUnsent, markUnsent, RECONNECT } from './attempts.ts';
import type { Scheduler } from './scheduler.ts';

/** What is kept open. */
export interface Linked {
  readonly gone: boolean;
  /** Asks it to end, and makes sure of it after so long. */
  close(graceMs?: number): Promise<void>;
}

interface Link<T extends Linked> {
  /** What is open, or becomes so. Whatever it rejects with, nothing was sent. `look`: also while it is left alone. */
  open(signal: AbortSignal, look?: boolean): Promise<T>;
  readonly breaker: CircuitBreaker;
  readonly closed: boolean;
  /** Nothing is open, because nobody needed it. */
  readonly asleep: boolean;
  /** Runs while the connection must not be closed for having nothing to do. A look is no use of it. */
  hold<R>(use: () => Promise<R>, look?: boolean): Promise<R>;
  close(): Promise<void>;
}

interface LinkOptions<T> {
  /** For messages. */
  readonly name: string;
  /** Makes one. The signal aborts when the link is closed. */
  connect(signal: AbortSignal): Promise<T>;
  readonly breaker: BreakerOptions;
  readonly scheduler: Scheduler;
  /** Closes what nobody has held for so long; undefined keeps it for good. */
  readonly idleMs?: number | undefined;
}

export function createLink<T extends Linked>(options: LinkOptions<T>): Link<T> {
  const { name, scheduler, idleMs } = options;
  const closing = new AbortController();
  const breaker = createCircuitBreaker(name, options.breaker, scheduler);
  let current: T | undefined;
  let opening: Promise<T> | undefined;
  let holders = 0;
  let lastUse = scheduler.now();
  /** Somebody needed it since it was last closed for having nothing to do. */
  let wanted = false;
  let idle: NodeJS.Timeout | undefined;

  const connect = async (look: boolean): Promise<T> => {
    wanted = true;
    try {
      const made = await breaker.guard(() => options.connect(closing.signal), undefined, look);
      if (closing.signal.aborted) {
        await made.close();
        throw closedLink(name);
      }
      current = made;
      return made;
    } catch (thrown) {
      throw unreachable(name, thrown);
    } finally {
      opening = undefined;
    }
  };
  const rest = () => {
    clearTimeout(idle);
    if (holders > 0 || idleMs === undefined || !current) return;
    const left = Math.max(0, lastUse + idleMs - scheduler.now());
    idle = setTimeout(() => {
      const unused = current;
      current = undefined;
      wanted = false;
      void unused?.close();
    }, left);
    idle.unref();
  };
  return {
    open(signal, look = false) {
      if (closing.signal.aborted) return Promise.reject(closedLink(name));
      if (current && !current.gone) return Promise.resolve(current);
      opening ??= connect(look);
      opening.catch(() => {});
      return orAborted(opening, signal);
    },
    get closed() {
      return closing.signal.aborted;
    },
    get asleep() {
      return !wanted;
    },
    breaker,
    async hold(use, look = false) {
      holders++;
      clearTimeout(idle);
      try {
        return await use();
      } finally {
        holders--;
        if (!look) lastUse = scheduler.now();
        rest();
      }
    },
    async close() {
      if (!closing.signal.aborted) closing.abort(closedLink(name));
      clearTimeout(idle);
      await opening?.catch(() => {});
      await current?.close();
    },
  };
}

export const closedLink = (name: string): Failure =>
  fail('call.outcome_unknown', `Cannot reach "${name}": its adapter was closed`);

/** Why it could not be opened, for a call that never left. */
function unreachable(name: string, thrown: unknown): unknown {
  if (!isFailure(thrown) || isUnsent(thrown)) return thrown;
  if (thrown.reason !== 'call.outcome_unknown') return markUnsent(thrown);
  return markUnsent(fail('tool.unhealthy', `Cannot reach "${name}": ${thrown.message}`, thrown.details));
}

interface LinkedConnectionOptions<T extends Linked> {
  /** For messages. */
  readonly name: string;
  readonly tools: readonly BoundTool[];
  readonly link: Link<T>;
  readonly scheduler: Scheduler;
  /** Carries a call over what is open. */
  send(invocation: Invocation, tool: BoundTool): Promise<InvocationResult>;
  /** Asks what is open whether it is there. */
  ping(open: T, signal: AbortSignal): Promise<unknown>;
}

export function linkedConnection<T extends Linked>(options: LinkedConnectionOptions<T>): AdapterConnection {
  const { name, link, scheduler, send, ping } = options;
  const byIdOf = (tools: readonly BoundTool[]) => new Map(tools.map((tool) => [tool.contract.id, tool]));
  let byId = byIdOf(options.tools);
  return {
    retool(tools) {
      byId = byIdOf(tools);
    },
    invoke(invocation) {
      const { tool: id, signal } = invocation;
      const tool = byId.get(id);
      if (link.closed) return Promise.reject(closedLink(name));
      if (!tool)
        return Promise.reject(fail('tool.unknown', `Cannot call "${id}": "${name}" has no such tool`));
      const { idempotent } = tool.contract;
      return link.hold(() =>
        attempt(() => send(invocation, tool), { plan: RECONNECT, idempotent, signal, scheduler }),
      );
    },
    async health(signal) {
      try {
        await link.hold(async () => ping(await link.open(signal, true), signal), true);
        return { status: 'ready', checkedTs: Date.now() };
      } catch (thrown) {
        return { status: 'unhealthy', checkedTs: Date.now(), message: (thrown as Error).message };
      }
    },
    asleep: () => link.asleep,
    close: () => link.close(),
  };
}

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Twice what an answer may be, for what JSON adds; beyond that a message is not held. */
export function longestMessage(tools: readonly BoundTool[], configured = MAX_OUTPUT_BYTES): number {
  const limits = tools.map(({ contract }) => contract.limits.maxOutputBytes);
  return 2 * Math.max(configured, ...limits) + 64 * 1024;
}
