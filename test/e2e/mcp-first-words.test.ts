// Owns: the proof that a client's first words are answered however they come: in pieces, at once, in another order, or never.
// Refuses: to look at speed; bench/subjects/cold-start.ts does.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { openLines } from '../support/mcp-lines.ts';
import { startHaft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const request = (id: number, method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });
const HELLO = request(1, 'initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
});
const LIST = request(2, 'tools/list');
const READ = (id: number) => request(id, 'tools/call', { name: 'file_read', arguments: { path: 'a.txt' } });

describe("a client's first words to a server that knows its tools from before", () => {
  let workspace: Workspace;

  before(async () => {
    workspace = makeWorkspace({ 'a.txt': 'hello\n' });
    const lines = openLines(workspace.root);
    lines.send(HELLO);
    lines.send(LIST);
    await lines.next();
    await lines.next();
    await eventually(() => existsSync(workspace.path('.haft/cache/mcp')), 'the list that is kept');
    assert.equal(await lines.end(), 0);
  });
  after(() => workspace.remove());

  it('come in pieces of one byte', async () => {
    const bytes = Buffer.from(`${HELLO}\n${LIST}`);
    const child = startHaft(['mcp'], { cwd: workspace.root });
    child.stderr.resume();
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
    });
    for (const byte of bytes.subarray(0, 60)) child.stdin.write(Uint8Array.of(byte));
    child.stdin.write(bytes.subarray(60));
    child.stdin.end('\n');
    assert.deepEqual(await once(child, 'close'), [0, null]);
    assert.deepEqual(
      said
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id)
        .toSorted(byNumber),
      [1, 2],
    );
  });

  it('are a call, without asking which tools there are', async () => {
    const lines = openLines(workspace.root);
    lines.send(HELLO);
    assert.equal((await lines.next()).id, 1);
    lines.send(READ(2));
    assert.match(JSON.stringify(await lines.next()), /hello/);
    lines.send(READ(3));
    assert.match(JSON.stringify(await lines.next()), /hello/);
    assert.equal(await lines.end(), 0);
  });

  it('are many in one write, the last of them not text, and more than a pipe holds', async () => {
    const lines = openLines(workspace.root);
    const pings = Array.from({ length: 5000 }, (_, i) => request(i + 10, 'ping'));
    lines.send([HELLO, ...pings, '{"broken', LIST, READ(3)].join('\n'));
    const answers = [];
    for (let i = 0; i < pings.length + 4; i++) answers.push(await lines.next());
    assert.deepEqual(answers.map(({ id }) => id).toSorted(byNumber), [
      null,
      ...[1, 2, 3, ...pings.map((_, i) => i + 10)],
    ]);
    assert.equal(await lines.end(), 0);
  });

  it('are none: it ends with the client, and at once with a signal', async () => {
    assert.equal(await openLines(workspace.root).end(), 0);
    for (const said of ['', `${HELLO}\n`]) {
      const child = startHaft(['mcp'], { cwd: workspace.root });
      child.stderr.resume();
      child.stdin.on('error', () => {});
      child.stdin.write(said);
      if (said) await once(child.stdout, 'data');
      child.kill('SIGTERM');
      await once(child, 'close');
    }
  });
});

const byNumber = (a: string | number | null, b: string | number | null) => Number(a) - Number(b);
