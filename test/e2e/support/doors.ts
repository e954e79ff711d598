// Owns: the four doors as one interface, so that one table of calls runs through all of them.
// Refuses: any knowledge of what a tool answers.
import { createRuntime, type JsonObject, type ToolResponse, toToolResponse } from '../../../src/index.ts';
import { haft, NODE_ARGS, startHaft } from './haft.ts';

export interface Door {
  readonly name: string;
  open(root: string): Promise<OpenDoor>;
}

export interface OpenDoor {
  call(tool: string, args: JsonObject): Promise<ToolResponse>;
  close(): Promise<void>;
}

export const DOORS: readonly Door[] = [
  { name: 'SDK', open: openSdk },
  { name: 'CLI', open: openCli },
  { name: 'HTTP', open: openHttp },
  { name: 'MCP', open: openMcp },
];

async function openSdk(root: string): Promise<OpenDoor> {
  const runtime = await createRuntime({ workspace: root });
  return {
    call: async (tool, args) => toToolResponse(await runtime.call({ tool, args })),
    close: () => runtime.close(),
  };
}

async function openCli(root: string): Promise<OpenDoor> {
  return {
    async call(tool, args) {
      const { stdout } = await haft(['call', tool, '-', '--json'], {
        cwd: root,
        stdin: JSON.stringify(args),
      });
      return JSON.parse(stdout);
    },
    close: async () => {},
  };
}

async function openHttp(root: string): Promise<OpenDoor> {
  const child = startHaft(['serve', '--port', '0', '--json'], { cwd: root });
  const line = await firstLine(child.stdout);
  const { address, token } = JSON.parse(line);
  return {
    async call(tool, args) {
      const response = await fetch(`${address}/v1/call`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ type: 'ToolRequest', tool, args }),
      });
      return (await response.json()) as ToolResponse;
    },
    async close() {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('close', resolve));
    },
  };
}

/** The envelope that an MCP result maps back to; docs/reference/mcp.md has the table. */
async function openMcp(root: string): Promise<OpenDoor> {
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const client = new Client({ name: 'doors', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...NODE_ARGS, 'mcp', '--output-schemas'],
      cwd: root,
      env: { ...process.env } as Record<string, string>,
      stderr: 'ignore',
    }),
  );
  return {
    async call(tool, args) {
      const base = { type: 'ToolResponse', tool, request_id: '', call_id: '', duration_ms: 0 } as const;
      try {
        const result = await client.callTool({ name: tool, arguments: args });
        const meta = result._meta as Record<string, unknown>;
        const errors = (meta['haft/errors'] ?? []) as ToolResponse['errors'];
        const warnings = meta['haft/warnings'] as ToolResponse['warnings'];
        const data = result.structuredContent ?? null;
        return { ...base, ok: !result.isError, data, errors, ...(warnings ? { warnings } : {}) };
      } catch (thrown) {
        const { data, message } = thrown as { data?: { reason?: string }; message: string };
        const entry = { reason: data?.reason, message } as ToolResponse['errors'][number];
        return { ...base, ok: false, data: null, errors: [entry] };
      }
    },
    close: () => client.close(),
  };
}

function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    stream.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
    });
    stream.once('end', () => reject(new Error(`the process ended after: ${text}`)));
  });
}
