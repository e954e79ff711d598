// Owns: the proof that a path which a person misnames on the command line is told as such, whatever is wrong with it.
// Refuses: paths that tools are given; policy and the sandbox have their own tests.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { cli, cliJson } from './support/cli.ts';
import { stepsPack } from './support/steps-pack.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const LONG = 'n'.repeat(300);

describe('paths named on the command line', () => {
  let workspace: Workspace;
  let run: string;
  let artifact: string;
  before(async () => {
    workspace = makeWorkspace({ ...stepsPack(), 'a.txt': 'one\n' });
    const made = await cliJson(workspace.root, 'call', 'steps', JSON.stringify({ how: 'ok', word: 'one' }));
    run = made.document.run_id;
    const shown = await cliJson(workspace.root, 'runs', 'show', run);
    artifact = shown.document.attempts[0].outputs[0].artifact;
    writeFileSync(workspace.path('x.tar'), 'x');
  });
  after(() => workspace.remove());

  const at = (rel: string) => workspace.path(rel);

  const READS: readonly (readonly [what: string, rel: string, says: RegExp])[] = [
    ['a folder', '.', /it is a directory; name a file/],
    ['a file as a folder', 'haft.yaml/x', /a part of its path is a file, not a folder/],
    ['a name that is too long', LONG, /the name is too long/],
    ['nothing', 'nope', /there is no such file/],
  ];
  for (const [what, rel, says] of READS) {
    it(`are refused where ${what} is to be read`, async () => {
      for (const argv of [
        ['runs', 'verify-bundle', at(rel)],
        ['call', 'file_read', `@${at(rel)}`],
        ['audit', 'verify', '--checkpoint', at(rel)],
      ]) {
        const { status, stderr } = await cli(workspace.root, ...argv);
        assert.match(stderr, says, argv.join(' '));
        assert.match(stderr, /Cannot read .*\[E_VALIDATION_FAIL usage\]/);
        assert.equal(status, 2);
      }
    });
  }

  it('are refused where a folder is to hold a key', async () => {
    const { status, stderr } = await cli(
      workspace.root,
      'runs',
      'verify-bundle',
      at('x.tar'),
      '--key',
      at('.'),
    );
    assert.match(stderr, /Cannot read .*: it is a directory; name a file/);
    assert.equal(status, 2);
  });

  it('are refused where they are no regular file, without waiting for one', async () => {
    const { status, stderr } = await cli(workspace.root, 'runs', 'verify-bundle', '/dev/null');
    assert.deepEqual([status, /it is no regular file/.test(stderr)], [2, true], stderr);
  });

  const WRITES: readonly (readonly [what: string, path: () => string, says: RegExp])[] = [
    ['a file is the parent', () => at('haft.yaml/x'), /a part of its path is a file.*path\.not_directory/],
    ['the parent is not there', () => at('nodir/x'), /its folder is not there; make it.*path\.not_found/],
    ['a name is too long', () => at(LONG), /the name is too long.*path\.invalid/],
    ['something is there', () => at('a.txt'), /something is already there.*path\.exists/],
    [
      'the file system takes no names',
      () => '/proc/foo',
      /nothing can be made in its folder.*path\.denied_by_os/,
    ],
  ];
  for (const [what, path, says] of WRITES) {
    it(`are refused where ${what} and something is to be written, in the same words by every command`, async () => {
      for (const argv of [
        ['runs', 'collect', run, '--to', path()],
        ['runs', 'export', run, '--to', path()],
        ['artifacts', 'cat', artifact, '--to', path()],
      ]) {
        const { status, stderr } = await cli(workspace.root, ...argv);
        assert.match(stderr, says, argv.join(' '));
        assert.equal(status, 5, stderr);
      }
      assert.ok(!existsSync(at('nodir')));
      assert.deepEqual(
        readdirSync(workspace.root).filter((name) => name.endsWith('.part')),
        [],
      );
    });
  }

  it('may be as long as the file system takes', async () => {
    const name = (first: string) => at(first.repeat(255));
    for (const argv of [
      ['runs', 'collect', run, '--to', name('c')],
      ['runs', 'export', run, '--to', name('e')],
      ['artifacts', 'cat', artifact, '--to', name('a')],
    ]) {
      const { status, stderr } = await cli(workspace.root, ...argv);
      assert.equal(status, 0, stderr);
    }
  });

  it('may be a folder without anything in it for what is collected, and not for a file', async () => {
    mkdirSync(at('empty'));
    assert.equal((await cli(workspace.root, 'runs', 'export', run, '--to', at('empty'))).status, 5);
    assert.equal((await cli(workspace.root, 'artifacts', 'cat', artifact, '--to', at('empty'))).status, 5);
    assert.equal((await cli(workspace.root, 'runs', 'collect', run, '--to', at('empty'))).status, 0);
  });
});
