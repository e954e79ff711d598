// Owns: calls and looks over one kept link: which tool is meant, how often it is tried, and what a look answers.
// Refuses: to know what is sent.
import type { AdapterConnection, Invocation, InvocationResult } from '../contract/adapter.ts';
import { fail } from '../contract/errors.ts';
import type { BoundTool } from '../contract/manifest.ts';
import { attempt, RECONNECT } from './attempts.ts';
import { closedLink, type Link, type Linked } from './link.ts';
import type { Pace } from './pace.ts';

export interface LinkedConnectionOptions<T extends Linked> {
  /** For messages. */
  readonly name: string;
  readonly tools: readonly BoundTool[];
  readonly link: Link<T>;
  readonly pace: Pace;
  /** Carries a call over what is open. */
  send(invocation: Invocation, tool: BoundTool): Promise<InvocationResult>;
  /** Asks what is open whether it is there. */
  ping(open: T, signal: AbortSignal): Promise<unknown>;
}

export function linkedConnection<T extends Linked>(options: LinkedConnectionOptions<T>): AdapterConnection {
  const { name, link, pace, send, ping } = options;
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
        attempt(() => send(invocation, tool), { plan: RECONNECT, idempotent, signal, pace }),
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
