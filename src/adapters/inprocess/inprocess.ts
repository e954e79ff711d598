// Owns: tools that are functions of this very process.
// Refuses: anything that could be called remote: no retries, no pools, always ready.
import { orAborted } from '../../base/or-aborted.ts';
import type { Adapter, Invocation, InvocationResult } from '../../contract/adapter.ts';
import { fail } from '../../contract/errors.ts';
import type { MaybePromise } from '../../contract/json.ts';

export type InprocessFunction = (invocation: Invocation) => MaybePromise<InvocationResult>;

export function createInprocessAdapter(functions: Readonly<Record<string, InprocessFunction>>): Adapter {
  return {
    name: 'inprocess',
    open({ name }) {
      const closing = new AbortController();
      return {
        async invoke(invocation) {
          if (closing.signal.aborted) throw closing.signal.reason;
          const run = Object.hasOwn(functions, invocation.tool) ? functions[invocation.tool] : undefined;
          if (!run)
            throw fail('tool.unknown', `Cannot call "${invocation.tool}": the pack has no such function`);
          invocation.signal.throwIfAborted();
          const signal = AbortSignal.any([invocation.signal, closing.signal]);
          return await orAborted(Promise.resolve(run({ ...invocation, signal })), signal);
        },
        health: async () => ({ status: closing.signal.aborted ? 'unhealthy' : 'ready', checkedTs: null }),
        async close() {
          closing.abort(closed(name));
        },
      };
    },
  };
}

const closed = (name: string) =>
  fail('call.outcome_unknown', `Cannot finish the call: the adapter of "${name}" was closed`);
