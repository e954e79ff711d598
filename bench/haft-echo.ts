// Owns: Haft's MCP server with one more tool, `echo`, for the comparison with a bare echo server.
// Refuses: short cuts: the tool is called like any other.
import { defineBuiltin } from '../src/contract/tool.ts';
import { serveStdio } from '../src/hosts/mcp/serve-stdio.ts';
import { createDefaultRuntime } from '../src/preset/default.ts';

const shape = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
} as const;

const echo = defineBuiltin<{ readonly text: string }, { readonly text: string }>({
  id: 'echo',
  title: 'Echo',
  description: 'Answers with the text that it was given.',
  input: shape,
  output: shape,
  effects: () => [],
  run: ({ text }) => ({ text }),
});

async function main(workspace: string): Promise<void> {
  const runtime = await createDefaultRuntime({ workspace, tools: [echo] });
  await serveStdio(async () => runtime, '0.0.0', { input: process.stdin, output: process.stdout }).ended;
  await runtime.close();
}

main(process.argv[2]!);
