// Owns: tools of *.tool.yaml on the one pipeline: decided by policy, contained, held to their schemas, audited.
// Refuses: adapters by themselves; they have tests of their own.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { combineAdapters } from '../../src/adapters/combined.ts';
import { createHttpAdapter } from '../../src/adapters/http/http.ts';
import { packFiles } from '../../src/adapters/pack-for-tests.ts';
import { createProcessAdapter } from '../../src/adapters/process/process.ts';
import { bindYamlTool } from '../../src/adapters/yaml-filling.ts';
import { ToolpackLoader } from '../../src/loader/tool-yaml/toolpack-loader.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../src/preset/default.ts';
import { trustForTests } from '../../src/preset/trust/trust-for-tests.ts';

const PYTHON = `
def double(input):
    return {"twice": input["n"] * 2}

def wrong(input):
    return {"twice": "not a number"}

def fails(input):
    raise ValueError("no such city")

def long(input):
    return {"text": "x" * 90000}

def note(input):
    with open("notes/n.txt", "w") as file: file.write(input["text"])
    return {"written": True}
`;
const twice = { type: 'object', properties: { twice: { type: 'number' } }, required: ['twice'] };
const numbered = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

describe('tools of *.tool.yaml', () => {
  const root = mkdtempSync(join(tmpdir(), 'haft-yaml-tools-'));
  const server = createServer((request, response) => response.end(JSON.stringify({ path: request.url })));
  let runtime: DefaultRuntime;

  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `localhost:${(server.address() as AddressInfo).port}`;
    const python = (name: string) => ({ kind: 'python', module: `tools:${name}` });
    const limits = { maxInputBytes: 1000, maxOutputBytes: 100_000 };
    const templating = { engine: 'jinja2' };
    const files = packFiles(
      [
        ['p.double', python('double'), { inputSchema: numbered, outputSchema: twice }],
        ['p.warm', { ...python('double'), warm: true }, { inputSchema: numbered, outputSchema: twice }],
        ['p.wrong', python('wrong'), { outputSchema: twice }],
        ['p.fails', python('fails'), { outputSchema: twice }],
        ['p.long', python('long'), { limits: { ...limits, maxOutputBytes: 80_000 } }],
        ['p.note', python('note'), { caps: { filesystem: { write: ['notes'] } } }],
        ['p.secret', python('note'), { caps: { filesystem: { write: ['private'] } } }],
        ['p.count', { kind: 'cli', cmd: ['wc', '-c'] }, { outputSchema: { type: 'string' } }],
        ['p.jq', { kind: 'cli', cmd: ['jq', '.'] }],
        ['p.get', { kind: 'http', url: `http://${origin}/{{ input.path }}` }, { templating }],
        [
          'p.away',
          { kind: 'http', url: 'https://{{ input.host }}/' },
          { templating, caps: { network: ['https'] } },
        ],
      ],
      { 'tools.py': PYTHON },
    );
    const policy = {
      version: 1,
      shell_allow: ['^wc(\\s|$)'],
      network: { allowed_domains: [{ domain: origin, private: true }] },
      paths: { rules: [{ path: 'private', write: 'deny' }] },
    };
    for (const [name, text] of Object.entries({ ...files, 'haft.yaml': JSON.stringify(policy) })) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    trustForTests(root);
    runtime = await createDefaultRuntime({ workspace: root });
    const loader = new ToolpackLoader();
    await loader.loadDir(join(root, 'packs/p'));
    const { handlesFor } = runtime.installations;
    runtime.installations.add({
      installation: {
        name: 'p',
        origin: 'path',
        digest: '',
        config: {},
        enabled: true,
        health: { status: 'unverified', checkedTs: null },
      },
      adapter: combineAdapters('yaml', [
        createProcessAdapter({ handlesFor }),
        createHttpAdapter({ handlesFor }),
      ]),
      tools: loader.list().flatMap(bindYamlTool),
    });
  });
  after(async () => {
    await runtime.close();
    server.close();
    rmSync(root, { recursive: true, force: true });
  });

  const call = async (tool: string, args: object = {}) => {
    const { ok, data, errors } = await runtime.call({ tool, args: args as never });
    return ok
      ? { data }
      : { reason: errors[0]?.reason, message: errors[0]?.message, details: errors[0]?.details };
  };

  it('are called, started for the call or kept, and over HTTP', async () => {
    assert.deepEqual(await call('p.double', { n: 4 }), { data: { twice: 8 } });
    assert.deepEqual(await call('p.warm', { n: 4 }), { data: { twice: 8 } });
    assert.deepEqual(await call('p.warm', { n: 5 }), { data: { twice: 10 } });
    assert.deepEqual(await call('p.get', { path: 'a' }), { data: { path: '/a' } });
    assert.deepEqual(await call('p.count'), { data: '13' });
  });

  it('are held to their schemas; a failure of their own is told in their words', async () => {
    assert.equal((await call('p.double', { n: 'x' })).reason, 'input.schema');
    assert.equal((await call('p.wrong')).reason, 'output.schema');
    const failed = await call('p.fails');
    assert.deepEqual(
      [failed.reason, failed.message],
      ['tool.failed', '"p.fails" failed: ValueError: no such city'],
    );
  });

  it('answer within their limits', async () => {
    assert.equal((await call('p.double', { n: 1, x: 'y'.repeat(2_000_000) })).reason, 'input.too_large');
    assert.equal((await call('p.long')).reason, 'output.too_large');
  });

  it('write where their caps and policy let them, and nowhere else', async () => {
    assert.deepEqual(await call('p.note', { text: 'hello' }), { data: { written: true } });
    assert.equal(readFileSync(join(root, 'notes/n.txt'), 'utf8'), 'hello');
    const denied = await call('p.secret', { text: 'x' });
    assert.equal(denied.reason, 'policy.denied');
    assert.match(JSON.stringify(denied.details), /paths\.rules/);
  });

  it('run commands and reach hosts that policy names, and are told the line that would admit another', async () => {
    const jq = await call('p.jq');
    assert.equal(jq.reason, 'shell.not_allowed');
    assert.match(JSON.stringify(jq.details), /shell_allow/);
    const away = await call('p.away', { host: 'example.org' });
    assert.equal(away.reason, 'http.not_allowed');
    assert.match(JSON.stringify(away.details), /example\.org/);
  });

  it('leave a row in the audit, with what they were to touch', async () => {
    const rows = await runtime.audit.rows({ tool: 'p.note', limit: 10 });
    const row = rows.find(({ phase }) => phase === 'outcome');
    assert.equal(row?.outcome, 'ok');
    assert.deepEqual(row?.effects, [
      { kind: 'fs.read', path: 'notes', tree: true },
      { kind: 'fs.write', path: 'notes', tree: true },
    ]);
  });
});
