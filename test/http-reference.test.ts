// Owns: the check that the routes and statuses of docs/reference are those of the daemon.
// Refuses: what a call answers; the doors' test compares that.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ERRORS } from '../src/contract/errors.ts';
import { createDaemon, type Daemon } from '../src/hosts/daemon/create-daemon.ts';
import { createRuntime, type DefaultRuntime } from '../src/index.ts';
import { makeWorkspace } from './e2e/support/workspace.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../docs/reference/http.md'), 'utf8');
const LIST = readFileSync(join(import.meta.dirname, '../docs/reference/http-routes.md'), 'utf8');
const ROUTES = [...LIST.matchAll(/^\| `(GET|POST|PUT|DELETE) (\/\S+)` \| (calls|management|no) \|/gm)].map(
  (row) => ({
    method: row[1]!,
    path: row[2]!.replace(/:\w+/, 'none'),
    token: row[3] as 'calls' | 'management' | 'no',
  }),
);
const OTHERS = { calls: 'approve', management: 'demo', no: undefined } as const;

describe('docs/reference/http.md', () => {
  const workspace = makeWorkspace();
  let runtime: DefaultRuntime;
  let daemon: Daemon;
  before(async () => {
    runtime = await createRuntime({ workspace: workspace.root });
    daemon = await createDaemon({
      runtime,
      version: '0.0.0',
      host: '127.0.0.1',
      port: 0,
      token: 'demo',
      approvalToken: 'approve',
    });
  });
  after(async () => {
    await daemon.close();
    await runtime.close();
    workspace.remove();
  });
  const ask = (path: string, method: string, headers: Record<string, string> = {}) => {
    const body = method === 'POST' || method === 'PUT' ? { body: '{}' } : {};
    return fetch(`${daemon.address}${path}`, { method, headers, ...body });
  };

  it('has routes', () => assert.ok(ROUTES.length >= 15));

  for (const { method, path, token } of ROUTES) {
    it(`${method} ${path} is there, and takes ${token} token`, async () => {
      assert.equal((await ask(path, method)).status === 401, token !== 'no');
      const other = OTHERS[token];
      if (other)
        assert.equal((await ask(path, method, { authorization: `Bearer ${other}` })).status, 401, other);
      const mine = token === 'management' ? 'approve' : 'demo';
      const answer = await ask(path, method, { authorization: `Bearer ${mine}` });
      assert.notEqual(answer.status, 401);
      assert.doesNotMatch(await answer.text(), /no such route/);
    });

    it(`${method} ${path} refuses pages of other sites`, async () => {
      const headers = { authorization: 'Bearer demo', origin: 'https://example.org' };
      assert.equal((await ask(path, method, headers)).status, 403);
    });
  }

  it('lists every status of the table of errors', () => {
    const listed = [...PAGE.matchAll(/^\| ([\d, ]+) \|/gm)].flatMap((row) => row[1]!.split(', '));
    const used = new Set(Object.values(ERRORS).map(({ http }) => String(http)));
    assert.deepEqual(
      [...used].filter((status) => !listed.includes(status)),
      [],
    );
  });
});
