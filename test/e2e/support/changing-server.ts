// Owns: the source of an MCP server over pipes whose tools change while it runs, because a call says so.
// Refuses: dependencies: it is one file that a workspace can hold.

/**
 * `echo` says what it is told, and `become` takes {"name", "description"}: a tool of that name is there from then on, or
 * is described that way, and clients are told so. A null description takes the tool away. `pid` says which process it is.
 */
export const CHANGING_SERVER = `
import { createInterface } from 'node:readline';
const tools = new Map([['echo', 'Says what it is told.'], ['become', 'Changes the tools.'], ['pid', 'Says who it is.']]);
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const text = (said) => ({ content: [{ type: 'text', text: said }] });
const CALLS = {
  become({ name, description }) {
    if (description === null) tools.delete(name);
    else tools.set(name, description);
    say({ method: 'notifications/tools/list_changed' });
    return text('became');
  },
  pid: () => text(String(process.pid)),
};
const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'hub', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: [...tools].map(([name, description]) => ({
      name, description, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true },
    })),
  }),
  'tools/call': ({ name, arguments: args }) => (CALLS[name] ?? (({ text: said }) => text(String(said))))(args ?? {}),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (METHODS[method]) say({ id, result: METHODS[method](params ?? {}) });
  else say({ id, error: { code: -32601, message: 'no such method' } });
}
`;
