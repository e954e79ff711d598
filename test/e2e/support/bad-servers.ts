// Owns: the sources of servers that behave badly, each in its own way.
// Refuses: dependencies: each is one file that a workspace can hold.

const answering = (methods: string) => `
import { createInterface } from 'node:readline';
const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'bad', version: '1.0.0' } }),
  ping: () => ({}),
  ${methods}
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = METHODS[method] ? { result: METHODS[method](params ?? {}) } : { error: { code: -32601, message: 'no such method' } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: method === 'tools/call' ? id + 1000 : id, ...answer }) + '\\n');
}
`;

export const BAD_SERVERS = {
  /** Never answers. */
  hangs: `console.error('waiting for a key that nobody brings'); setInterval(() => {}, 1e6);`,
  dies: `console.error('FatalError: no licence for this machine'); process.exit(3);`,
  /** Says what is no message, to both streams, for ever. */
  floods: `const flood = (stream) => { while (stream.write('noise '.repeat(200) + '\\n')); stream.once('drain', () => flood(stream)); };
flood(process.stdout); flood(process.stderr);`,
  /** Bad schemas, names that collide, answers to questions that nobody asked. */
  lies: answering(`'tools/list': () => ({ tools: [
    { name: 'fine', inputSchema: { type: 'object' } },
    { name: 'odd', inputSchema: { type: 'object', properties: { a: { type: 'no-such-type' } } } },
    { name: 'do-it', inputSchema: { type: 'object' } },
    { name: 'do_it', inputSchema: { type: 'object' } },
  ] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'x'.repeat(1000) }] }),`),
} as const;
