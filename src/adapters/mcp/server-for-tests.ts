// Owns: for tests, a server of the official SDK with the tools of the adapter suite: over pipes or HTTP, of either era.
// Refuses: to be part of the product; tests start it as a program.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';

const [transport = 'stdio', era = 'modern', port = '0'] = process.argv.slice(2);

const object = { type: 'object' as const };
const TOOLS = [
  { name: 'echo', description: 'Answers its arguments.', inputSchema: object, outputSchema: object },
  { name: 'fail', inputSchema: object, outputSchema: { ...object, required: ['never'] } },
  { name: 'wait', inputSchema: object },
  { name: 'wait-readonly', inputSchema: object, annotations: { readOnlyHint: true } },
  { name: 'big', inputSchema: object, outputSchema: object },
  { name: 'plain', title: 'Plain', inputSchema: object, annotations: { idempotentHint: true } },
  { name: 'image', inputSchema: object },
  { name: 'count', inputSchema: object, outputSchema: object },
  { name: 'grow', inputSchema: object },
  {
    name: 'region',
    inputSchema: { ...object, properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
    outputSchema: object,
  },
  {
    name: 'bad-header',
    inputSchema: { ...object, properties: { price: { type: 'number', 'x-mcp-header': 'Price' } } },
  },
];

let waits = 0;
let cancelled = 0;
let grown = false;
let announce = (server: Server): Promise<unknown> => server.sendToolListChanged();

function build(): Server {
  const server = new Server(
    { name: 'fixture', version: '1.2.3' },
    { capabilities: { tools: { listChanged: true } }, instructions: 'Use them well.' },
  );
  server.setRequestHandler('tools/list', ({ params }) => {
    const all = grown ? [...TOOLS, { name: 'grown', inputSchema: object }] : TOOLS;
    const at = Number(params?.cursor ?? 0);
    const page = all.slice(at, at + 4);
    return { tools: page as never, ...(at + 4 < all.length ? { nextCursor: String(at + 4) } : {}) };
  });
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const data = (structuredContent: object) => ({
      content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }],
      structuredContent: structuredContent as never,
    });
    const text = (said: string, isError = false) => ({
      content: [{ type: 'text' as const, text: said }],
      isError,
    });
    const args = params.arguments ?? {};
    switch (params.name) {
      case 'echo':
      case 'region':
        return data(args);
      case 'fail':
        return text('failed as asked', true);
      case 'big':
        return data({ text: 'x'.repeat(Number(args.bytes ?? 256 * 1024)) });
      case 'plain':
        return text('just text');
      case 'image':
        return {
          content: [
            { type: 'text', text: 'see' },
            { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          ],
        };
      case 'count':
        return data({ waits, cancelled });
      case 'grow':
        grown = true;
        await announce(server);
        return text('grown');
      case 'grown':
        return text('here');
      default: {
        waits++;
        const progressToken = ctx.mcpReq._meta?.progressToken ?? 0;
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress: 1, total: 2, message: 'waiting' },
        });
        await new Promise((resolve) => ctx.mcpReq.signal.addEventListener('abort', resolve));
        cancelled++;
        return text('cancelled');
      }
    }
  });
  return server;
}

if (transport === 'stdio') {
  if (era === 'modern') serveStdio(build, { legacy: 'reject' });
  else await build().connect(new StdioServerTransport());
} else {
  const modern = createMcpHandler(build, { legacy: 'reject' });
  if (era === 'modern') announce = async () => modern.notify.toolsChanged();
  const handle = toNodeHandler(modern);
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  const http = createServer(async (request, response) => {
    if (era === 'modern') return handle(request as never, response);
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && !known) return response.writeHead(404).end();
    const session =
      known ??
      new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (made) => void sessions.set(made, session),
      });
    if (!known) await build().connect(session);
    await session.handleRequest(request, response);
  });
  http.listen(Number(port), '127.0.0.1', () => console.log(JSON.stringify(http.address())));
}
