import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TEMPLATE_NAMES, TEMPLATES } from '../init-policy.ts';
import { runForTests } from '../run-for-tests.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'haft-init-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const cli = (...args: string[]) => runForTests([...args, '--workspace', root]);
const reasonOf = async (tool: string, args: object) => {
  const { out } = await cli('call', tool, JSON.stringify(args), '--json');
  return JSON.parse(out).errors[0]?.reason ?? 'ok';
};
const text = (name: string) => readFileSync(join(root, name), 'utf8');

describe('haft init', () => {
  for (const name of [...Object.keys(TEMPLATES), 'java'])
    it(`writes a policy without a problem: --template ${name}`, async () => {
      writeFileSync(join(root, 'package.json'), '{}');
      const { exit, out, err } = await cli('init', '--template', name);
      assert.deepEqual([exit, err], [0, '']);
      assert.match(out, /^Wrote haft\.yaml \(.+\)\.\n {2}Allowed: [\s\S]+ {2}Not allowed: /);
      assert.equal((await cli('policy', 'check')).exit, 0);
    });

  it('names every template in its help', async () => {
    const { out } = await cli('init', '--help');
    for (const name of TEMPLATE_NAMES) assert.match(out, new RegExp(`\\b${name}\\b`));
    const { exit, err } = await cli('init', '--template', 'pythn');
    assert.equal(exit, 2);
    assert.match(err, /did you mean "python"\?/);
  });

  it('read-only: reads, and changes and runs nothing', async () => {
    writeFileSync(join(root, 'a.txt'), 'a');
    await cli('init', '--template', 'read-only');
    assert.equal(await reasonOf('file_read', { path: 'a.txt' }), 'ok');
    assert.equal(await reasonOf('file_write', { path: 'b.txt', content: '' }), 'policy.denied');
    assert.equal(await reasonOf('fs_delete', { path: 'a.txt' }), 'policy.denied');
    assert.equal(await reasonOf('shell_exec', { cmd: 'ls' }), 'shell.not_allowed');
  });

  it('ask: reads, and waits for a person before each change and command', async () => {
    writeFileSync(join(root, 'a.txt'), 'a');
    await cli('init', '--template', 'ask');
    assert.equal(await reasonOf('file_read', { path: 'a.txt' }), 'ok');
    assert.equal(await reasonOf('file_write', { path: 'b.txt', content: '' }), 'approval.pending');
    assert.equal(await reasonOf('shell_exec', { cmd: 'ls > c.txt' }), 'approval.pending');
    assert.equal(await reasonOf('shell_exec', { cmd: 'rm a.txt' }), 'shell.not_allowed');
  });

  it('replaces a policy only with --force, and keeps each that was there', async () => {
    assert.equal((await cli('init', '--template', 'read-only')).exit, 0);
    const first = text('haft.yaml');
    const refused = await cli('init');
    assert.match(refused.err, /there is one already; --force replaces it and keeps a copy/);
    assert.equal(text('haft.yaml'), first);
    assert.match((await cli('init', '--force')).out, /The one before is haft\.yaml\.bak\./);
    const second = text('haft.yaml');
    assert.equal(JSON.parse((await cli('init', '--force', '--json')).out).backup, 'haft.yaml.bak.1');
    assert.deepEqual([text('haft.yaml.bak'), text('haft.yaml.bak.1')], [first, second]);
  });

  it('with --force and no terminal trusts nothing that grants more', async () => {
    await cli('init', '--template', 'read-only');
    const { exit, err } = await cli('init', '--force');
    assert.equal(exit, 0);
    assert.match(err, /not trusted yet; run haft trust/);
    assert.equal(await reasonOf('fs_list', {}), 'policy.untrusted');
  });

  it('replaces no policy that is a link, and leaves what it leads to', async () => {
    writeFileSync(join(root, 'other.yaml'), 'version: 1\n');
    symlinkSync('other.yaml', join(root, 'haft.yaml'));
    const { exit, err } = await cli('init', '--force');
    assert.notEqual(exit, 0);
    assert.match(err, /it is a link/);
    assert.equal(text('other.yaml'), 'version: 1\n');
  });
});
