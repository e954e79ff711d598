// Owns: Haft's MCP server with three more tools, for what no builtin does: waiting, warning, being deterministic.
// Refuses: short cuts: each is called like any other tool.
// usage: mcp-server.ts WORKSPACE
import { defineBuiltin } from '../../src/contract/tool.ts';
import { serveStdio } from '../../src/hosts/mcp/serve-stdio.ts';
import { createDefaultRuntime } from '../../src/preset/default.ts';

const ANY = { type: 'object', additionalProperties: true } as const;
const about = { description: 'For tests.', input: ANY, output: ANY, effects: () => [] };

/** Reports the same percentage twice, then waits until it is cancelled. */
const wait = defineBuiltin({
  ...about,
  id: 'wait',
  title: 'Wait',
  async run(_args: object, { signal, progress }) {
    progress({ pct: 40, message: 'first' });
    progress({ pct: 40, message: 'second' });
    await new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    );
    return {};
  },
});

const warn = defineBuiltin({
  ...about,
  id: 'warn',
  title: 'Warn',
  run(_args: object, ctx) {
    ctx.warn({ reason: 'test', message: 'mind the gap' });
    return {};
  },
});

const fixed = defineBuiltin({
  ...about,
  id: 'fixed',
  title: 'Answer the same',
  deterministic: true,
  tags: ['network'],
  run: (args: object) => args,
});

const runtime = await createDefaultRuntime({ workspace: process.argv[2]!, tools: [wait, warn, fixed] });
await serveStdio(async () => runtime, '0.0.0', { input: process.stdin, output: process.stdout }).ended;
await runtime.close();
