// Owns: the source of a small MCP server over pipes, for tests that change what it says about its tools.
// Refuses: dependencies: it is one file that a workspace can hold.

/** One tool for each description: `echo`, `echo1`, … */
export const hubServer = (...descriptions: readonly string[]) => `
import { createInterface } from 'node:readline';
const tools = ${JSON.stringify(descriptions)}.map((description, n) => ({
  name: n === 0 ? 'echo' : 'echo' + n, description, inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  annotations: { readOnlyHint: true },
}));
const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'hub', version: '1.0.0' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: args }) => ({ content: [{ type: 'text', text: args.text }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = METHODS[method]
    ? { result: METHODS[method](params ?? {}) }
    : { error: { code: -32601, message: 'no such method' } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
}
`;
