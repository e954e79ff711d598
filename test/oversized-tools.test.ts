// Owns: the proof that an answer over the limit is kept whole, whichever way its tool is reached, and that no secret is in it.
// Refuses: limits of policy and answers of builtins; oversized-answers.test.ts has those.
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { packFiles } from '../src/adapters/pack-for-tests.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../src/preset/default.ts';
import { openCredentials } from '../src/preset/open-credentials.ts';
import { makeWorkspace } from './e2e/support/workspace.ts';

const LIMIT = 200_000;
const TOKEN = 'correct-horse-battery-staple';

const PYTHON = `
import os
def answer(input):
    return {"text": "x" * input["length"], "last": os.environ.get("TOKEN", "")}
`;
const CLI =
  '#!/bin/sh\nprintf \'{"text":"\'\nhead -c "$1" /dev/zero | tr "\\\\0" x\nprintf \'","last":"%s"}\' "$TOKEN"\n';
const STDIO = `
import json, os, sys
def say(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "hello" in message: say({"id": message["id"], "ok": True, "data": {"tools": [{"name": "long", "input": {"type": "object"}, "mutates": False}]}})
    elif "tool" in message: say({"id": message["id"], "ok": True, "data": {"text": "x" * message["input"]["length"], "last": os.environ["TOKEN"]}})
    else: say({"id": message["id"], "ok": True})
`;
const MCP = `
import { createInterface } from 'node:readline';
const tools = [{ name: 'long', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'hub', version: '1.0.0' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: args }) => ({ content: [{ type: 'text', text: 'x'.repeat(args.length) + process.env.TOKEN }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = METHODS[method] ? { result: METHODS[method](params ?? {}) } : { error: { code: -32601, message: 'no' } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
}
`;

/** The same over HTTP: by JSON, or by an event; and a plain service beside it. */
const service = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const token = String(request.headers.authorization ?? '').replace('Bearer ', '');
  if (pathname === '/plain')
    return response.end(
      JSON.stringify({ text: 'x'.repeat(Number(searchParams.get('length'))), last: token }),
    );
  if (request.method !== 'POST') return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return response.writeHead(202).end();
  const results: Record<string, () => object> = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'h', version: '1' },
    }),
    'tools/list': () => ({
      tools: [{ name: 'long', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
    }),
    'tools/call': () => ({ content: [{ type: 'text', text: 'x'.repeat(params.arguments.length) + token }] }),
  };
  const result = results[method]?.();
  send(
    response,
    pathname,
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      ...(result ? { result } : { error: { code: -32601, message: 'no' } }),
    }),
  );
});

function send(response: ServerResponse, path: string, message: string): void {
  if (path === '/events') {
    response.setHeader('content-type', 'text/event-stream');
    response.end(`event: message\ndata: ${message}\n\n`);
  } else {
    response.setHeader('content-type', 'application/json');
    response.end(message);
  }
}

/** One for each way to reach a tool; all of them have a secret to tell. */
const TOOLS = ['p.python', 'p.warm', 'p.cli', 'p.http', 'lines.long', 'hub.long', 'json.long', 'events.long'];

describe('an answer over the limit of its tool', () => {
  const workspace = makeWorkspace();
  const home = makeWorkspace();
  const before_ = { HOME: process.env.HOME, XDG_CONFIG_HOME: process.env.XDG_CONFIG_HOME };
  let runtime: DefaultRuntime;

  before(async () => {
    Object.assign(process.env, { HOME: home.root, XDG_CONFIG_HOME: home.path('config') });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const origin = `127.0.0.1:${(service.address() as AddressInfo).port}`;
    const limits = { maxInputBytes: 1000, maxOutputBytes: LIMIT };
    const credentials = { hub: { env: { TOKEN: 'token' } } };
    const templating = { engine: 'jinja2' };
    const python = { kind: 'python', module: 'tools:answer' };
    const files = packFiles(
      [
        ['p.python', python, { limits, credentials }],
        ['p.bare', python, { limits }],
        ['p.warm', { ...python, warm: true }, { limits, credentials }],
        [
          'p.cli',
          { kind: 'cli', cmd: ['./long.sh', '{{ input.length }}'] },
          { limits, credentials, templating, caps: { subprocess: true } },
        ],
        [
          'p.http',
          { kind: 'http', url: `http://${origin}/plain?length={{ input.length }}` },
          { limits, templating, credentials: { hub: { headers: { Authorization: 'Bearer {{ token }}' } } } },
        ],
      ],
      { 'tools.py': PYTHON, 'long.sh': CLI },
    );
    const server = { credentials: ['hub'], max_output_bytes: LIMIT };
    const env = { set: { TOKEN: '{{ credentials.hub.token }}' } };
    const headers = { authorization: 'Bearer {{ credentials.hub.token }}' };
    const policy = {
      version: 1,
      packs: [
        'packs/p',
        { name: 'lines', stdio: { command: ['python3', 'lines.py'], env, ...server } },
        { name: 'hub', mcp: { command: ['node', 'hub.mjs'], env, ...server } },
        { name: 'bare', mcp: { command: ['node', 'hub.mjs'], max_output_bytes: LIMIT } },
        { name: 'json', mcp: { url: `http://${origin}/json`, headers, ...server } },
        { name: 'events', mcp: { url: `http://${origin}/events`, headers, ...server } },
      ],
      shell_allow: ['^.*'],
      network: { allowed_domains: [{ domain: origin, private: true }] },
    };
    const all = { ...files, 'lines.py': STDIO, 'hub.mjs': MCP, 'haft.yaml': JSON.stringify(policy) };
    for (const [name, text] of Object.entries(all)) workspace.put(name, text);
    const { chmodSync } = await import('node:fs');
    chmodSync(workspace.path('packs/p/long.sh'), 0o755);
    const kept = openCredentials({ workspace: workspace.root, users: async () => assert.fail('no users') });
    await kept.set({ provider: 'hub', owner: '' }, { token: TOKEN });
    runtime = await createDefaultRuntime({
      workspace: workspace.root,
      onWarning: (line) => assert.fail(line),
    });
  });
  after(async () => {
    await runtime?.close();
    service.closeAllConnections();
    service.close();
    Object.assign(process.env, before_);
    workspace.remove();
    home.remove();
  });

  const CASES = TOOLS.flatMap((tool) => [
    [tool, 'a little too long', LIMIT + 1000] as const,
    [tool, 'far too long', 20 * LIMIT] as const,
  ]);
  for (const [tool, how, length] of CASES)
    it(`of ${tool} fails with the artifact that holds it, where it is ${how}`, async () => {
      const { ok, data, errors } = await runtime.call({ tool, args: { length } });
      const [error] = errors;
      assert.deepEqual([ok, data, error?.reason], [false, null, 'output.too_large'], error?.message);
      const { artifact, bytes } = error!.details as unknown as {
        artifact: `sha256:${string}`;
        bytes: number;
      };
      assert.ok(error?.message.includes(artifact), error?.message);
      const kept = Buffer.from(await runtime.objects.get(artifact)).toString();
      assert.ok(kept.length >= length && bytes >= length);
      assert.equal(kept.match(/x+/g)?.find((run) => run.length === length)?.length, length);
      assert.ok(!kept.includes(TOKEN), 'a secret was kept');
      assert.ok((await runtime.call({ tool, args: { length: 10 } })).ok, 'and the next call is answered');
    });

  it('is lost where it is more than is kept of one, and the program with it', async () => {
    for (const tool of ['p.bare', 'bare.long']) {
      const { errors } = await runtime.call({ tool, args: { length: 20 * 1024 * 1024 } });
      assert.deepEqual(
        [errors[0]?.reason, errors[0]?.details?.artifact],
        ['output.too_large', undefined],
        tool,
      );
      assert.ok((await runtime.call({ tool, args: { length: 10 } })).ok, tool);
    }
  });
});
