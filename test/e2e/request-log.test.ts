// Owns: the log of `haft serve`: one line for each request, and no token in it.
// Refuses: what the routes answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startHaft } from './support/haft.ts';
import { makeWorkspace } from './support/workspace.ts';

const TOKEN = 'a-token-that-is-long-enough';
const OTHER = 'another-token-that-is-long';

describe('haft serve', () => {
  const workspace = makeWorkspace({ 'a.txt': 'one\n' });
  after(() => workspace.remove());

  async function served(...flags: string[]): Promise<{ lines: string[]; err: string }> {
    const env = { HAFT_TOKEN: TOKEN, HAFT_APPROVAL_TOKEN: OTHER };
    const child = startHaft(['serve', '--port', '0', ...flags], { cwd: workspace.root, env });
    let [out, err] = ['', ''];
    child.stdout.on('data', (piece) => {
      out += piece;
    });
    child.stderr.on('data', (piece) => {
      err += piece;
    });
    await eventually(async () => /http:\/\/[\d.]+:\d+/.test(out), 'its address');
    const address = /http:\/\/[\d.]+:\d+/.exec(out)![0];
    const headers = { authorization: `Bearer ${TOKEN}` };
    await (await fetch(`${address}/v1/tools?token=${TOKEN}`, { headers })).text();
    await (await fetch(`${address}/v1/tools`, { headers: { authorization: 'Bearer wrong' } })).text();
    await (await fetch(`${address}/nothing/%1b[2J?x=${TOKEN}`, { headers })).text();
    if (!flags.includes('--quiet')) await eventually(async () => err.split('\n').length > 3, 'three lines');
    child.kill('SIGTERM');
    await once(child, 'close');
    return { lines: err.trimEnd().split('\n'), err };
  }

  it('logs time, method, path, status and milliseconds of each request', async () => {
    const { lines, err } = await served();
    assert.match(
      lines[0]!,
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z {2}GET {3}\/v1\/tools {2}200 {2}[\d.]+ ms$/,
    );
    assert.match(lines[1]!, / {2}GET {3}\/v1\/tools {2}401 {2}/);
    assert.match(lines[2]!, / {2}GET {3}\/nothing\/%1b\[2J {2}404 {2}/);
    assert.ok(!err.includes(TOKEN) && !err.includes('wrong'), err);
  });

  it('logs lines of JSON with --json', async () => {
    const { lines } = await served('--json');
    const { time, ms, ...rest } = JSON.parse(lines[0]!);
    assert.deepEqual(rest, { method: 'GET', path: '/v1/tools', status: 200 });
    assert.ok(!Number.isNaN(Date.parse(time)) && ms >= 0);
  });

  it('logs nothing with --quiet', async () => {
    assert.equal((await served('--quiet')).err, '');
  });
});
