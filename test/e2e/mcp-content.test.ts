// Owns: the proof that what upstream MCP servers answer reaches a client as it was: images, audio, resources, links.
// Refuses: to stop at one client: both generations of the official one look at every answer.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { haft, NODE_ARGS } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const MODULES = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol');
const EVERYTHING = join(MODULES, 'server-everything/dist/index.js');

// biome-ignore lint/suspicious/noExplicitAny: a block is whatever the server made
type Block = any;

const SOUND = { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' };
const PICTURE = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png', annotations: { priority: 1 } };
const BLOB = { type: 'resource', resource: { uri: 'demo://b', mimeType: 'x/y', blob: 'AP8=' } };
const text = (said: string) => ({ type: 'text', text: said });

/** What no server of npm answers: audio, blocks beside data of a schema, a failure that shows something, a block of nobody. */
const ANSWERS: Readonly<
  Record<string, { readonly content: readonly Block[]; readonly [field: string]: unknown }>
> = {
  sound: { content: [SOUND, text('after the sound')] },
  chart: { content: [text('{"n":1}'), PICTURE], structuredContent: { n: 1 } },
  broken: { content: [text('it broke'), PICTURE], isError: true },
  odd: { content: [text('odd'), { type: 'hologram', beams: 3 }, { type: 'image' }, BLOB] },
  large: { content: [text('large'), { ...PICTURE, data: 'A'.repeat(3 * 1024 * 1024) }] },
};
const SERVER = `
import { createInterface } from 'node:readline';
const answers = ${JSON.stringify(ANSWERS)};
const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false };
const tools = Object.keys(answers).map((name) => ({
  name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true }, ...(name === 'chart' ? { outputSchema: schema } : {}),
}));
const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'own', version: '1.0.0' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name }) => answers[name],
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = METHODS[method] ? { result: METHODS[method](params ?? {}) } : { error: { code: -32601, message: 'no' } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
}
`;
const POLICY = `version: 1
packs:
  - { name: everything, mcp: { command: [node, ${EVERYTHING}, stdio] } }
  - { name: own, mcp: { command: [node, server.mjs], caps: { filesystem: { read: [server.mjs] } }, overlays: { large: { limits: { max_output_bytes: 1048576 } } } } }
`;

interface Result {
  readonly content: readonly Block[];
  readonly structuredContent?: Block;
  readonly isError?: boolean;
}

describe('an answer of an upstream server', () => {
  let workspace: Workspace;
  const calls: Record<string, (name: string, args?: object) => Promise<Result>> = {};
  const closes: (() => Promise<void>)[] = [];
  let listNames: () => Promise<string[]>;
  before(async () => {
    workspace = makeWorkspace({ 'haft.yaml': POLICY, 'server.mjs': SERVER });
    const env = { ...process.env } as Record<string, string>;
    const place = {
      command: process.execPath,
      args: [...NODE_ARGS, 'mcp', '--output-schemas'],
      cwd: workspace.root,
      env,
    };
    const v2 = new Client({ name: 'test', version: '1.0.0' });
    await v2.connect(new StdioClientTransport({ ...place, stderr: 'ignore' }));
    const v1 = new ClientV1({ name: 'test', version: '1.0.0' });
    await v1.connect(new StdioV1({ ...place, stderr: 'ignore' }));
    listNames = async () => (await v2.listTools()).tools.map(({ name }) => name);
    await listNames();
    await v1.listTools();
    calls['the second client'] = async (name, args = {}) =>
      (await v2.callTool({ name, arguments: args as never })) as Result;
    calls['the first client'] = async (name, args = {}) =>
      (await v1.callTool({ name, arguments: args as never })) as Result;
    closes.push(
      () => v2.close(),
      () => v1.close(),
    );
  });
  after(async () => {
    for (const close of closes) await close();
    workspace.remove();
  });
  const everywhere = (title: string, look: (call: (typeof calls)[string]) => Promise<void>) =>
    it(title, async () => {
      for (const [client, call] of Object.entries(calls))
        await look(call).catch((thrown) => {
          throw new Error(`${client}: ${thrown.message}`, { cause: thrown });
        });
    });
  const types = ({ content }: Result) => content.map(({ type }) => type);

  it('comes from a tool whose name every client accepts, and which it keeps', async () => {
    const listed = await listNames();
    for (const name of listed) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
    const sum = listed.find((name) => /^everything.get_sum$/.test(name))!;
    for (const call of Object.values(calls)) {
      const { content } = await call(sum, { a: 2, b: 3 });
      assert.match(content[0].text, /5/);
      assert.match((await call('everything.get_sum', { a: 2, b: 3 })).content[0].text, /5/);
    }
    const { stdout } = await haft(['audit', 'list', '--last', '1', '--json'], { cwd: workspace.root });
    assert.match(stdout, /"tool":"everything\.get_sum"/);
    const state = new DatabaseSync(workspace.path('.haft/haft.db'), { readOnly: true });
    const kept = state.prepare('SELECT name FROM tool_names WHERE tool = ?').get('everything.get_sum');
    state.close();
    assert.equal(kept?.name, sum);
  });

  everywhere('has its image, once', async (call) => {
    const result = await call('everything.get_tiny_image');
    assert.deepEqual(types(result), ['text', 'image', 'text']);
    const { data, mimeType } = result.content[1];
    assert.equal(mimeType, 'image/png');
    assert.equal(Buffer.from(data, 'base64').toString('latin1', 1, 4), 'PNG');
    assert.ok(!JSON.stringify(result.structuredContent).includes(data));
    assert.match(result.structuredContent.text, /image/);
  });

  everywhere('has its links and embedded resources', async (call) => {
    const links = await call('everything.get_resource_links', { count: 2 });
    assert.deepEqual(types(links), ['text', 'resource_link', 'resource_link']);
    assert.match(links.content[1].uri, /^demo:\/\/resource/);
    const args = { resourceType: 'Text', resourceId: 1 };
    const embedded = await call('everything.get_resource_reference', args);
    assert.deepEqual(types(embedded), ['text', 'resource', 'text']);
    assert.match(embedded.content[1].resource.text, /plaintext resource/);
  });

  everywhere('keeps the annotations of its blocks', async (call) => {
    const args = { messageType: 'success', includeImage: true };
    const { content } = await call('everything.get_annotated_message', args);
    assert.deepEqual(content[0].annotations, { audience: ['user'], priority: 0.7 });
    assert.ok(content[1].annotations);
  });

  everywhere('has its audio, in its order', async (call) =>
    assert.deepEqual((await call('own.sound')).content, ANSWERS.sound!.content),
  );

  everywhere('has its blocks also beside data that fits a schema', async (call) => {
    const { content, structuredContent } = await call('own.chart');
    assert.deepEqual(content, ANSWERS.chart!.content);
    assert.deepEqual(structuredContent, { n: 1 });
  });

  everywhere('has them also where it is a failure', async (call) => {
    const { content, isError } = await call('own.broken');
    assert.equal(isError, true);
    assert.match(content[0].text, /it broke/);
    assert.deepEqual(content.slice(1), ANSWERS.broken!.content);
  });

  everywhere('shows as text what no client could read', async (call) => {
    const { content } = await call('own.odd');
    assert.deepEqual(content, [
      text('odd'),
      text('{"type":"hologram","beams":3}'),
      text('{"type":"image"}'),
      BLOB,
    ]);
  });

  everywhere('that is over the limit is kept as an artifact', async (call) => {
    const { content, isError } = await call('own.large');
    assert.equal(isError, true);
    assert.deepEqual(types({ content }), ['text']);
    assert.match(content[0].text, /sha256:[0-9a-f]{64}/);
  });

  it('has all of it at the other doors, too', async () => {
    const call = async (tool: string) =>
      JSON.parse((await haft(['call', tool, '{}', '--json'], { cwd: workspace.root })).stdout);
    assert.deepEqual((await call('own.sound')).data, { text: 'after the sound', ...ANSWERS.sound });
    const { data, content } = await call('own.chart');
    assert.deepEqual([data, content], [{ n: 1 }, ANSWERS.chart!.content]);
    assert.deepEqual((await call('own.broken')).errors[0].details.content, ANSWERS.broken!.content);
  });
});
