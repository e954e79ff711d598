// Owns: `canned`: a server that is only its config: tools that answer what is written there, for trying things out.
// Refuses: to reach anything.
import type { ServerAdapter } from '../../src/adapters/server-adapter.ts';
import { orAborted } from '../../src/base/or-aborted.ts';
import { fail } from '../../src/contract/errors.ts';
import type { Json, JsonSchema } from '../../src/contract/json.ts';
import type { BoundTool } from '../../src/contract/manifest.ts';

/** Without any of these the tool answers its arguments. */
interface Canned {
  readonly answer?: Json;
  readonly fails?: string;
  readonly waits?: boolean;
}

const TOOL = {
  type: 'object',
  properties: { answer: true, fails: { type: 'string' }, waits: { type: 'boolean' } },
  additionalProperties: false,
};
const CONFIG: JsonSchema = {
  type: 'object',
  properties: { tools: { type: 'object', additionalProperties: TOOL } },
  required: ['tools'],
  additionalProperties: false,
};

export function createCannedAdapter(): ServerAdapter {
  return {
    name: 'canned',
    strategy: 'connection',
    config: CONFIG,
    open({ name, config }) {
      const tools = new Map(Object.entries(config.tools as Readonly<Record<string, Canned>>));
      const closing = new AbortController();
      return {
        async invoke({ tool, args, signal, progress }) {
          closing.signal.throwIfAborted();
          const canned = tools.get(tool.slice(name.length + 1));
          if (!canned) throw fail('tool.unknown', `Cannot call "${tool}": "${name}" has no such tool`);
          signal.throwIfAborted();
          if (canned.waits) {
            progress({ pct: 50 });
            await orAborted(new Promise(() => {}), AbortSignal.any([signal, closing.signal]));
          }
          if (canned.fails !== undefined) return { ok: false, message: canned.fails };
          return { ok: true, data: canned.answer ?? args };
        },
        health: async () => ({
          status: closing.signal.aborted ? 'unhealthy' : 'ready',
          checkedTs: Date.now(),
        }),
        discover: async () => ({
          tools: [...tools.keys()].sort().map((tool) => bind(`${name}.${tool}`)),
          problems: [],
        }),
        onChange: () => () => {},
        async close() {
          closing.abort(fail('call.outcome_unknown', `Cannot finish the call: "${name}" was closed`));
        },
      };
    },
  };
}

const bind = (id: string): BoundTool => ({
  contract: {
    id,
    version: '1.0.0',
    contract: 'v1',
    title: id,
    description: 'Answers what haft.yaml says.',
    tags: [],
    input: true,
    output: true,
    deterministic: false,
    idempotent: true,
    mutates: false,
    limits: { timeoutMs: 60_000, maxInputBytes: 1024 * 1024, maxOutputBytes: 1024 * 1024 },
  },
  binding: { adapter: 'canned', target: {} },
});
