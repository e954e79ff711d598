// Owns: the bare echo server of the MCP SDK v1, which Haft's own MCP door is compared with.
// Refuses: everything beside echoing: no policy, no audit, no validation of its own.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const server = new Server({ name: 'sdk-echo', version: '1.0.0' }, { capabilities: { tools: {} } });

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [
    {
      name: 'echo',
      description: 'Answers with the text that it was given.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      outputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    },
  ],
}));

server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  const data = { text: params.arguments.text };
  return { content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data };
});

await server.connect(new StdioServerTransport());
