import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { haft } from '../../../../test/e2e/support/haft.ts';
import { makeWorkspace } from '../../../../test/e2e/support/workspace.ts';
import { boundTool } from '../../../contract/tools-for-tests.ts';
import { createSchemaCompiler } from '../../../loader/schema/schema-compiler.ts';
import { brokenSchemas } from './server.ts';

const object = (properties: object) => ({ type: 'object', properties }) as const;

describe('brokenSchemas', () => {
  it('lets others have their turn while it looks at many tools', async () => {
    const schemas = createSchemaCompiler();
    // The library is there: nothing but the work itself takes its time.
    await (await schemas.compile({ type: 'object', not: {} }))({});
    const tools = Array.from({ length: 1_000 }, (_, n) =>
      boundTool(`many.t${n}`, 'stdio', {}, { input: object({ [`a${n}`]: { type: 'string' } }) as never }),
    );
    let turns = 0;
    let over = false;
    const others = () => {
      turns++;
      if (!over) setImmediate(others);
    };
    setImmediate(others);
    assert.deepEqual(await brokenSchemas(tools, schemas), {});
    over = true;
    assert.ok(turns > 1, 'others had no turn');
  });

  it('says which schemas do not compile, and which are too large', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`p${n}`, { type: 'string' }]));
    const tools = [
      boundTool('p.fine', 'stdio', {}),
      boundTool('p.odd', 'stdio', {}, { output: { type: 'no-such-type' } as never }),
      boundTool('p.large', 'stdio', {}, { input: object(many) as never }),
    ];
    const broken = await brokenSchemas(tools, createSchemaCompiler());
    assert.deepEqual(Object.keys(broken), ['p.odd', 'p.large']);
    assert.match(broken['p.odd'] ?? '', /^its output schema does not compile/);
    assert.match(broken['p.large'] ?? '', /its input schema .*it is \d+ bytes, over the limit of 262144/);
  });
});

const TOKEN = 'Zq7SecretToken9x';

/** A server of either kind that says the secret that it was given wherever it can. */
const ECHOING = `
import { createInterface } from 'node:readline';
const t = process.env.GIVEN;
const [, , kind] = process.argv;
const words = { type: 'object', title: t, properties: { k: { type: 'string', description: 'not ' + t, enum: ['a'], examples: [t] } } };
const tools = [
  { name: 'said', title: 'as ' + t, description: 'connected with ' + Buffer.from(t).toString('base64') + ' and ' + t, schema: words },
  { name: 'one_of', schema: { type: 'object', properties: { k: { enum: [t] } } } },
  { name: 'keyed', schema: { type: 'object', properties: { [t]: {} } } },
  { name: 'get' + t, schema: { type: 'object' } },
  { name: 'plain', description: 'Says nothing.', schema: { type: 'object' } },
].map(({ schema, ...tool }) => ({ ...tool, ...(kind === 'mcp' ? { inputSchema: schema } : { input: schema, output: { title: t } }) }));
const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: t, version: '1.0.0-' + t }, instructions: t }),
  'tools/list': () => ({ tools }),
  'tools/call': () => ({ content: [{ type: 'text', text: t }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, hello } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = kind === 'stdio'
    ? { ok: true, data: hello ? { tools } : { text: t } }
    : METHODS[method] ? { jsonrpc: '2.0', result: METHODS[method](params) } : { jsonrpc: '2.0', error: { code: -32601, message: 'no' } };
  process.stdout.write(JSON.stringify({ id, ...answer }) + '\\n');
}
`;

describe('a server that says the credential that it was given', () => {
  for (const kind of ['mcp', 'stdio'])
    it(`shows it nowhere in its list: ${kind}`, async () => {
      const given = 'credentials: [lk], env: { set: { GIVEN: "{{ credentials.lk.token }}" } }';
      const workspace = makeWorkspace({
        'haft.yaml': `version: 1\npacks:\n  - { name: lk, ${kind}: { command: [node, srv/s.mjs, ${kind}], ${given} } }\n`,
        'srv/s.mjs': ECHOING,
      });
      const shown: string[] = [];
      const run = async (...args: readonly string[]) => {
        const { stdout, stderr } = await haft(args, { cwd: workspace.root, stdin: TOKEN });
        shown.push(stdout, stderr);
        return { stdout, stderr };
      };
      try {
        await run('credentials', 'set', 'lk');
        const { stderr } = await run('tools', 'lock');
        assert.match(stderr, /"lk" has a tool that cannot be used: a schema of "one_of" holds a secret/);
        assert.match(stderr, /"lk" has a tool that cannot be used: a schema of "keyed" holds a secret/);
        assert.match(stderr, /"lk" has a tool that cannot be used: its name holds a secret/);
        const said = JSON.parse((await run('tools', 'show', 'lk.said', '--json')).stdout);
        assert.equal(said.title, 'as [redacted]');
        assert.equal(said.description, 'connected with [redacted] and [redacted]');
        const { stdout: listed } = await run('tools', 'list', '--json');
        assert.deepEqual(listed.match(/"lk\.\w+"/g), ['"lk.plain"', '"lk.said"']);
        await run('tools', 'search', 'connected');
        const refused = JSON.parse((await run('call', 'lk.said', '{"k":"z"}')).stdout);
        assert.equal(refused.errors[0].reason, 'input.schema');
        const left = JSON.parse((await run('call', 'lk.one_of', '{"k":"z"}')).stdout);
        assert.match(JSON.stringify(left.errors), /holds a secret/);
        const { ok, data } = JSON.parse((await run('call', 'lk.said', '{"k":"a"}')).stdout);
        assert.deepEqual([ok, data], [true, { text: '[redacted]' }]);
        const kept = readdirSync(workspace.path('.haft/cache/packs')).map(
          (name) => `.haft/cache/packs/${name}`,
        );
        assert.ok(kept.length > 0);
        for (const path of ['haft.lock', ...kept]) shown.push(readFileSync(workspace.path(path), 'utf8'));
        assert.ok(
          !/zq7_?secret/i.test(shown.join('\n')),
          shown.find((text) => /zq7_?secret/i.test(text)),
        );
      } finally {
        workspace.remove();
      }
    });
});
