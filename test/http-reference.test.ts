// Owns: the check that the routes and statuses of docs/reference are those of the daemon.
// Refuses: what a call answers; the doors' test compares that.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { ERRORS } from '../src/contract/errors.ts';
import { startHaft } from './e2e/support/haft.ts';
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
const TOKENS = { calls: 'token-for-calls-only-0', management: 'token-of-a-person-0000', no: '' } as const;
const OTHERS = { calls: 'management', management: 'calls' } as const;

describe('docs/reference/http.md', () => {
  const workspace = makeWorkspace();
  let daemon: ReturnType<typeof startHaft>;
  let address: string;
  before(async () => {
    const env = { HAFT_TOKEN: TOKENS.calls, HAFT_APPROVAL_TOKEN: TOKENS.management };
    daemon = startHaft(['serve', '--port', '0', '--json'], { cwd: workspace.root, env });
    const [line] = await once(createInterface(daemon.stdout), 'line');
    ({ address } = JSON.parse(line as string));
  });
  after(async () => {
    daemon.kill('SIGTERM');
    await once(daemon, 'close');
    workspace.remove();
  });
  const ask = (path: string, method: string, headers: Record<string, string> = {}) => {
    const body = method === 'POST' || method === 'PUT' ? { body: '{}' } : {};
    return fetch(`${address}${path}`, { method, headers, ...body });
  };

  it('has routes', () => assert.ok(ROUTES.length >= 15));

  for (const { method, path, token } of ROUTES) {
    it(`${method} ${path} is there, and takes ${token} token`, async () => {
      assert.equal((await ask(path, method)).status === 401, token !== 'no');
      if (token !== 'no') {
        const authorization = `Bearer ${TOKENS[OTHERS[token]]}`;
        assert.equal((await ask(path, method, { authorization })).status, 401, OTHERS[token]);
      }
      const authorization = `Bearer ${TOKENS[token]}`;
      const answer = await ask(path, method, { authorization });
      assert.notEqual(answer.status, 401);
      assert.doesNotMatch(await answer.text(), /no such route/);
    });

    it(`${method} ${path} refuses pages of other sites`, async () => {
      const headers = { authorization: `Bearer ${TOKENS.calls}`, origin: 'https://example.org' };
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
