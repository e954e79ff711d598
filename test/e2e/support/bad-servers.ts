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
    { name: 'bare' },
  ] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'x'.repeat(1000) }] }),`),
} as const;

/** Speaks JSON lines: `hello` and `reply` are expressions, of the answers without their id. */
const lines = (hello: string, reply = '{ ok: true, data: null }') => `
import { createInterface } from 'node:readline';
for await (const line of createInterface({ input: process.stdin })) {
  const { id, hello, ping, tool } = JSON.parse(line);
  if (tool === 'deep') process.stdout.write('{"id":' + id + ',"ok":true,"data":' + '['.repeat(1e5) + ']'.repeat(1e5) + '}\\n');
  else process.stdout.write(JSON.stringify({ id, ...(hello ? ${hello} : ping ? { ok: true } : ${reply}) }) + '\\n');
}
`;

const TREE = `{ type: 'object', properties: { kids: { type: 'array', items: { $ref: '#' } } } }`;

/** Those that begin with `line_` speak JSON lines, the others MCP. */
export const PROTOCOL_BREAKERS = {
  line_refuses: lines(`{ ok: false, error: { message: 'no licence' } }`),
  line_null: lines(`{ ok: true, data: { tools: null } }`),
  line_many: lines(
    `{ ok: true, data: { tools: Array.from({ length: 20000 }, (_, n) => ({ name: 't' + n, input: {} })) } }`,
  ),
  line_odd: lines(
    `{ ok: true, data: { tools: [...['do-it', 'do_it', 'deep', 'blank'].map((name) => ({ name, input: {} })), { name: 'bare' }, { name: 'tree', input: ${TREE} }] } }`,
    `tool === 'tree' ? { ok: true, data: null } : {}`,
  ),
  list_text: answering(`'tools/list': () => ({ tools: 'x' }),`),
  list_none: answering(`'tools/list': () => ({}),`),
  list_odd: `
import { createInterface } from 'node:readline';
const TOOLS = [...['deep', 'blank'].map((name) => ({ name, inputSchema: {} })), { name: 'tree', inputSchema: ${TREE} }];
const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'bad', version: '1.0.0' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': ({ name }) => (name === 'blank' ? null : { content: [{ type: 'text', text: 'fine' }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = METHODS[method] ? { result: METHODS[method](params ?? {}) } : { error: { code: -32601, message: 'no such method' } };
  const text = JSON.stringify({ jsonrpc: '2.0', id, ...answer });
  const deep = method === 'tools/call' && params.name === 'deep';
  process.stdout.write((deep ? text.replace('"content"', '"structuredContent":{"a":' + '['.repeat(1e5) + ']'.repeat(1e5) + '},"content"') : text) + '\\n');
}
`,
} as const;
