// Owns: what `haft tools check` prints, and its exit codes.
// Refuses: the rules themselves; loader/tool-yaml has those.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makePack, manifest } from '../../../loader/tool-yaml/pack-for-tests.ts';
import { runForTests } from '../run-for-tests.ts';

const run = (...args: string[]) => runForTests(['tools', 'check', ...args]);

describe('haft tools check', () => {
  it('says that a pack is fine', async () => {
    const folder = makePack({ 'a.tool.yaml': manifest(), 'b/c.tool.yaml': manifest({ id: 'demo.c' }) });
    assert.deepEqual(await run(folder), { exit: 0, out: '2 tools are fine\n', err: '' });
    assert.deepEqual(JSON.parse((await run(folder, '--json')).out), {
      ok: true,
      tools: ['demo.c', 'demo.tool'],
      diagnostics: [],
    });
  });

  it('prints every problem where a terminal finds it, and exits with 2', async () => {
    const folder = makePack({
      'a.tool.yaml': manifest({ timeoutMs: 'true', timeout: '1' }),
      'sub/b.tool.yaml': 'id: X',
    });
    const { exit, out, err } = await run(`${folder}/`);
    assert.equal(exit, 2);
    assert.equal(out, '');
    assert.ok(
      err.includes(`${folder}/a.tool.yaml:4:12: error timeout.invalid: timeoutMs: expected a whole number`),
      err,
    );
    assert.ok(
      err.includes(`${folder}/a.tool.yaml:9:1: error key.unknown`) &&
        err.includes('hint: did you mean timeoutMs?'),
      err,
    );
    assert.ok(err.includes(`${folder}/sub/b.tool.yaml:1:5: error id.invalid`), err);
  });

  it('checks several folders together, and tells one that is not there', async () => {
    const [one, two] = [makePack({ 'a.tool.yaml': manifest() }), makePack({ 'b.tool.yaml': manifest() })];
    const { exit, err } = await run(one, two, join(one, 'no'));
    assert.equal(exit, 2);
    assert.ok(err.includes('id.duplicate') && err.includes(`${one}/no:1:1: error pack.missing`), err);
  });

  it('shows its help, and wants a folder', async () => {
    assert.match((await run('--help')).out, /^usage: haft tools check DIR…[\s\S]*haft tools check packs/);
    assert.equal((await run()).exit, 2);
  });
});
