// Owns: tools that are functions of this very process.
// Refuses: anything that could be called remote: no retries, no pools, always ready.
import type { Adapter, Invocation, InvocationResult } from '../../contract/adapter.ts';
import { fail } from '../../contract/errors.ts';
import type { MaybePromise } from '../../contract/json.ts';

export type InprocessFunction = (invocation: Invocation) => MaybePromise<InvocationResult>;

export function createInprocessAdapter(functions: Readonly<Record<string, InprocessFunction>>): Adapter {
  return {
    name: 'inprocess',
    open() {
      const closing = new AbortController();
      return {
        async invoke(invocation) {
          if (closing.signal.aborted) throw closed(invocation.tool);
          const run = Object.hasOwn(functions, invocation.tool) ? functions[invocation.tool] : undefined;
          if (!run)
            throw fail('tool.unknown', `Cannot call "${invocation.tool}": the pack has no such function`);
          invocation.signal.throwIfAborted();
          const signal = AbortSignal.any([invocation.signal, closing.signal]);
          return await Promise.race([
            run({ ...invocation, signal }),
            rejectionOf(signal, closing.signal, invocation.tool),
          ]);
        },
        health: async () => ({ status: closing.signal.aborted ? 'unhealthy' : 'ready', checkedTs: null }),
        async close() {
          closing.abort();
        },
      };
    },
  };
}

/** Rejects when the signal aborts, also when it already has. */
function rejectionOf(signal: AbortSignal, closing: AbortSignal, tool: string): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(closing.aborted ? closed(tool) : signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

const closed = (tool: string) =>
  fail('call.outcome_unknown', `Cannot finish "${tool}": its adapter was closed`);
