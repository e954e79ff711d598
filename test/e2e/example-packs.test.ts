// Owns: the proof that the packs of examples/ work as they are: every tool, through haft.yaml, in the sandbox.
// Refuses: to leave a tool of them untried.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createDefaultRuntime, type DefaultRuntime } from '../../src/preset/default.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const PACKS = join(import.meta.dirname, '../../examples/packs');

let workspace: Workspace;
let runtime: DefaultRuntime;
let server: Server;
let origin: string;
const posted: string[] = [];

before(async () => {
  server = createServer((request, response) => {
    if (request.method === 'GET') return response.end('{"answer":42}');
    let body = '';
    request
      .on('data', (chunk) => (body += chunk))
      .on('end', () => {
        posted.push(body);
        response.setHeader('content-type', 'application/json').end('{"ok":true}');
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  workspace = makeWorkspace({ 'a.txt': 'alpha\n' });
  cpSync(PACKS, workspace.path('packs'), { recursive: true });
  workspace.put(
    'haft.yaml',
    `version: 1
packs:
  - packs/text
  - packs/data
  - packs/repo
  - { path: packs/web, config: { webhook: "${origin}/hook" } }
shell_allow:
  - '^git (--no-pager )?log( |$)'
  - '^sha256sum( |$)'
  - '^du( |$)'
network:
  allowed_domains:
    - { domain: '${origin.slice(7)}', private: true }
`,
  );
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      cwd: workspace.root,
      stdio: 'ignore',
    });
  git('init', '-q');
  git('add', 'a.txt');
  git('commit', '-q', '-m', 'the first');
  runtime = await createDefaultRuntime({ workspace: workspace.root });
});

after(async () => {
  await runtime?.close();
  server.close();
  workspace.remove();
});

type Case = readonly [tool: string, args: object | (() => object), check: (data: never) => void];

const equal = (expected: unknown) => (data: unknown) => assert.deepEqual(data, expected);
const matches = (pattern: RegExp) => (data: string) => assert.match(data, pattern);

const CASES: readonly Case[] = [
  [
    'text.stats',
    { text: 'Ein Haus, ein Boot.\nÜber ein Boot.\n', top: 2 },
    equal({
      lines: 2,
      words: 7,
      characters: 35,
      frequent: [
        { word: 'ein', count: 3 },
        { word: 'boot', count: 2 },
      ],
    }),
  ],
  [
    'text.diff',
    { before: 'a\nb\n', after: 'a\nc\n' },
    equal({ diff: '--- before\n+++ after\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n', equal: false }),
  ],
  ['text.evaluate', { expression: '2 ** 10 - (3 + 4) * -1' }, equal({ value: 1031 })],
  [
    'data.csv_to_json',
    { csv: 'name;age\n"Grace; H.";85\n', delimiter: ';' },
    equal({ columns: ['name', 'age'], rows: [{ name: 'Grace; H.', age: '85' }] }),
  ],
  [
    'data.query',
    { value: { 'a/b': [{ c: null }] }, pointer: '/a~1b/0/c' },
    equal({ found: true, value: null }),
  ],
  [
    'data.sort',
    { rows: [{ n: 10 }, { n: 9 }, { n: 100 }], by: ['-n'] },
    equal({ rows: [{ n: 100 }, { n: 10 }, { n: 9 }] }),
  ],
  [
    'data.outline',
    { value: { items: [{ id: 1 }, { id: 2 }] } },
    equal({ outline: ['/ object', '/items array of 2', '/items/0 object', '/items/0/id number'] }),
  ],
  ['web.slug', { title: 'Über Größe & Maß!' }, equal({ slug: 'ueber-groesse-mass' })],
  [
    'web.links',
    { html: '<p><a href="b.html">B <b>two</b></a>', base: 'https://example.org/x/a.html' },
    equal({ links: [{ url: 'https://example.org/x/b.html', text: 'B two' }] }),
  ],
  [
    'web.links',
    { html: "<a class=x href='/b?c&amp;d'>B <b>two</b></a>", base: 'https://example.org/x/a.html' },
    equal({ links: [{ url: 'https://example.org/b?c&d', text: 'B two' }] }),
  ],
  ['web.get_json', () => ({ url: `${origin}/doc` }), equal({ answer: 42 })],
  [
    'web.notify',
    { text: 'built "main"' },
    () =>
      assert.deepEqual(
        posted.map((one) => JSON.parse(one)),
        [{ text: 'built "main"' }],
      ),
  ],
  ['repo.history', { count: 3 }, matches(/^[0-9a-f]{7,} \d{4}-\d\d-\d\d Ada: the first\s*$/)],
  ['repo.checksums', { path: 'a.txt' }, matches(/^[0-9a-f]{64} {2}a\.txt\s*$/)],
  ['repo.sizes', { depth: 0 }, matches(/^\d+\t\.\s*$/)],
];

describe('the packs of examples/', () => {
  for (const [tool, args, check] of CASES) {
    it(`${tool} works`, async () => {
      const response = await runtime.call({
        tool,
        args: (typeof args === 'function' ? args() : args) as never,
      });
      assert.ok(response.ok, JSON.stringify(response.errors));
      check(response.data as never);
    });
  }

  it('are tried, every tool of them', () => {
    const tools = runtime.tools().filter(({ origin: from }) => from.startsWith('pack '));
    const tried = new Set(CASES.map(([tool]) => tool));
    assert.deepEqual(
      tools.map(({ contract }) => contract.id).filter((id) => !tried.has(id)),
      [],
    );
    assert.ok(tools.length >= 12);
  });

  it('say what is wrong as failures of the tool', async () => {
    const { errors } = await runtime.call({ tool: 'text.evaluate', args: { expression: 'open("x")' } });
    assert.equal(errors[0]?.reason, 'tool.failed');
    assert.match(errors[0]!.message, /cannot work out/);
  });
});
