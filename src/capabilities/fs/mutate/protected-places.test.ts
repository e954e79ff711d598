import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path, { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openObjectStore } from '../../../stores/objects/open-object-store.ts';
import { createTestBench, edit, type TestBench } from './bench-for-tests.ts';
import { outlyingParts } from './protected-places.ts';

describe('what belongs to a repository or a workspace below', () => {
  let bench: TestBench;
  before(() => {
    bench = createTestBench((folder) => openObjectStore({ folder, process: 'test' }));
    const { ws } = bench;
    for (const folder of [
      'store/objects',
      'store/refs',
      'store/hooks',
      'tree-store',
      'in/tools',
      'in/src',
      'shared',
    ])
      fs.mkdirSync(path.join(ws, folder), { recursive: true });
    const put = (name: string, text: string) => fs.writeFileSync(path.join(ws, name), text);
    put('store/HEAD', 'ref: refs/heads/main\n');
    put('store/config', '');
    put('tree-store/HEAD', '');
    put('tree-store/commondir', '../store\n');
    put('in/haft.yaml', 'version: 1\npacks: [tools, ../shared]\n');
    put('in/tools/a.tool.yaml', '');
    fs.mkdirSync(path.join(ws, 'odd/p3'), { recursive: true });
    put('odd/haft.yaml', 'shell_allow: [&a p4]\npacks: ["p\\x33", *a]\n');
    put('odd/p3/t.py', '');
    fs.mkdirSync(path.join(ws, 'piped'));
    execFileSync('mkfifo', [path.join(ws, 'piped/haft.yaml')]);
    put('shared/b', '');
    put('HEAD', 'just a file');
    for (const folder of ['repo/.git/objects', 'repo/.git/refs', 'repo/conf', 'half/objects', 'half/refs'])
      fs.mkdirSync(path.join(ws, folder), { recursive: true });
    put('repo/.git/HEAD', 'ref: refs/heads/main\n');
    put(
      'repo/linked.cfg',
      '[include]\n\tpath = ../conf/shared\n[includeIf "onbranch:x"]\n\tpath = ../not-there/yet\n',
    );
    for (const folder of ['hooked/.git/hooks', 'hooked/tools/hooks', 'hooked/.git/objects/info'])
      fs.mkdirSync(path.join(ws, folder), { recursive: true });
    put(
      'hooked/.git/config',
      '[core]\n\thooksPath = tools/hooks\n\tfsmonitor = ./tools/watch\n\tpager = tools/pager -R\n\teditor = vi\n\tbare = false\n[user]\n\tname = README\n',
    );
    for (const name of ['tools/hooks/pre-push', 'tools/watch', 'tools/post', 'README'])
      put(`hooked/${name}`, '');
    fs.symlinkSync('../../tools/post', path.join(ws, 'hooked/.git/hooks/post-commit'));
    fs.symlinkSync('../linked.cfg', path.join(ws, 'repo/.git/config'));
    put('repo/conf/shared', '[include]\n\tpath = third\n');
    put('repo/conf/third', '');
    for (const folder of [
      'far/.git/objects/info',
      'far/.git/refs',
      'away/hooks',
      'away/objs/pack',
      'late',
      'prep/hooks',
    ])
      fs.mkdirSync(path.join(ws, folder), { recursive: true });
    put('far/.git/HEAD', 'ref: refs/heads/main\n');
    put(
      'far/.git/config',
      '[core]\n\thooksPath = ../away/hooks\n[include]\n\tpath = ../../away/my.gitconfig\n',
    );
    put('far/.git/objects/info/alternates', '../../../away/objs\n');
    put('late/.git', 'gitdir: ../away/soon\n');
    put('prep/hooks/pre-push', '');
    for (const [folder, config] of [
      ['gp/wt/repo/.git', 'hooksPath = hk\n\tworktree = ../../../wk'],
      ['gp/bare/srv.git', 'hooksPath = ../hk'],
      ['gp/nb/repo/.git', 'hooksPath = ../../b/hk'],
    ]) {
      for (const part of ['objects', 'refs']) fs.mkdirSync(path.join(ws, folder!, part), { recursive: true });
      put(`${folder}/HEAD`, 'ref: refs/heads/main\n');
      put(`${folder}/config`, `[core]\n\t${config}\n`);
    }
    fs.mkdirSync(path.join(bench.base, '.git'));
    fs.writeFileSync(
      path.join(bench.base, '.git/config'),
      '[core]\n\thooksPath = ws/up/hk\n\tfsmonitor = ws/up/watch.sh\n',
    );
    fs.mkdirSync(path.join(ws, 'up'));
    const link = (target: string, name: string) => fs.symlinkSync(target, path.join(ws, name));
    for (const folder of [
      'way/repo/.git/hooks',
      'way/near/.git',
      'way/near/real/hk',
      'way/real/hk',
      'way/ev/hk',
      'way/lb',
    ])
      fs.mkdirSync(path.join(ws, folder), { recursive: true });
    put('way/near/.git/config', '[core]\n\thooksPath = lnk/hk\n');
    link('real', 'way/near/lnk');
    put('way/repo/.git/config', '[core]\n\thooksPath = ../lnk/hk\n[include]\n\tpath = ../../lb/soon/more\n');
    link('real', 'way/lnk');
    link('ev', 'way/other');
    fs.mkdirSync(path.join(ws, 'way/held'));
    link('../ev', 'way/held/soon');
    link('../real/pc', 'way/held/mid');
    link('../../../held/mid', 'way/repo/.git/hooks/pre-commit');
  });
  after(() => bench.close());

  for (const [what, edits] of Object.entries({
    'a hook of a folder that a .git file may lead to': [edit.write('store/hooks/pre-commit', 'x')],
    'its configuration': [edit.write('store/config', 'x')],
    'the folder itself': [edit.remove('store', { recursive: true })],
    'its name': [edit.move('store', 'elsewhere')],
    'the folder of a worktree': [edit.write('tree-store/config.worktree', 'x')],
    'a pack of a workspace below': [edit.write('in/tools/a.tool.yaml', 'x')],
    'a new file of that pack': [edit.write('in/tools/new/x', 'x', { createDirs: true })],
    'the folder around that pack': [edit.remove('in', { recursive: true })],
    'that pack, by copying over it': [edit.copy('a', 'in/tools/a.tool.yaml', { overwrite: true })],
    'a pack whose name is spelt so that only YAML reads it': [edit.write('odd/p3/t.py', 'x')],
    'one that such a name may stand for': [edit.write('odd/p4/t.py', 'x', { createDirs: true })],
    'what lies beside a pipe in the place of haft.yaml': [edit.write('piped/x', 'x')],
    'what the configuration of a repository includes': [edit.write('repo/conf/shared', 'x')],
    'what that includes in turn': [edit.remove('repo/conf/third')],
    'what it would include, if it were there': [edit.write('repo/not-there/yet', 'x', { createDirs: true })],
    'a configuration that .git links to': [edit.write('repo/linked.cfg', 'x')],
    'a folder with such a file': [edit.move('repo/conf', 'repo/other')],
    'a folder in the place of such a file': [edit.move('shared', 'repo/not-there')],
    'a hook in the folder that core.hooksPath names': [edit.write('hooked/tools/hooks/pre-push', 'x')],
    'a new hook there': [edit.write('hooked/tools/hooks/pre-commit', 'x')],
    'the folder with those hooks': [edit.move('hooked/tools', 'hooked/t')],
    'a program that a setting names': [edit.write('hooked/tools/watch', 'x')],
    'a program that a setting names, before it is there': [edit.write('hooked/tools/pager', 'x')],
    'the same, by a file that is moved there': [edit.move('hooked/README', 'hooked/tools/pager')],
    'what a hook is a link to': [edit.write('hooked/tools/post', 'x')],
    'a folder that a HEAD would make a repository': [edit.write('half/HEAD', 'x')],
    'one that a single call would make': [
      edit.write('made/config', 'x', { createDirs: true }),
      edit.write('made/objects/x', 'x', { createDirs: true }),
      edit.write('made/refs/x', 'x', { createDirs: true }),
      edit.write('made/HEAD', 'x', { createDirs: true }),
    ],
    'a hook in the folder that the core.hooksPath of a repository elsewhere names': [
      edit.write('away/hooks/pre-commit', 'x'),
    ],
    'what the configuration of one elsewhere includes': [edit.write('away/my.gitconfig', 'x')],
    'objects that one elsewhere shares': [edit.write(`away/objs/pack/pack-${'0'.repeat(40)}.idx`, 'x')],
    ...Object.fromEntries(
      'pack/evil.pack pack/evil.idx pack/x.rev pack/x.bitmap pack/x.midx pack/x.mtimes pack/x.keep pack/x.promisor pack/multi-pack-index pack/multi-pack-index.d/multi-pack-index-chain info/packs info/commit-graph info/commit-graphs/commit-graph-chain info/commit-graphs/x.graph info/http-alternates info/grafts info/shallow'
        .split(' ')
        .map((name) => [
          `${name} of those objects`,
          [edit.write(`away/objs/${name}`, 'x', { createDirs: true })],
        ]),
    ),
    'alternates of those': [edit.write('away/objs/info/alternates', 'x', { createDirs: true })],
    'a hook where a .git file elsewhere leads, before anything is there': [
      edit.write('away/soon/hooks/post-checkout', 'x', { createDirs: true }),
    ],
    'the same, by a folder that is moved there': [edit.move('prep', 'away/soon')],
    'the same, by a copy': [edit.copy('prep', 'away/soon')],
    'the configuration there': [edit.write('away/soon/config', 'x', { createDirs: true })],
    'a hook in the work tree that core.worktree names': [
      edit.write('gp/wk/hk/pre-commit', 'x', { createDirs: true }),
    ],
    'a hook of a server, counted from its bare repository': [
      edit.write('gp/bare/hk/pre-receive', 'x', { createDirs: true }),
    ],
    'a hook of a server, counted from .git': [
      edit.write('gp/nb/b/hk/pre-receive', 'x', { createDirs: true }),
    ],
    ...Object.fromEntries(
      'pre-receive update proc-receive post-receive post-update push-to-checkout sendemail-validate p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit reference-transaction fsmonitor-watchman post-index-change'
        .split(' ')
        .map((name) => [`the hook ${name} of one elsewhere`, [edit.write(`away/hooks/${name}`, 'x')]]),
    ),
    'a link on the way, by another that is moved over it': [edit.move('way/other', 'way/lnk', true)],
    'the same, of the repository around it': [edit.move('way/other', 'way/near/lnk', true)],
    'a link on the way, by a file that is moved over it': [edit.move('a', 'way/lnk', true)],
    'a link on the way, by its removal': [edit.remove('way/lnk')],
    'a link on the way, by its name': [edit.move('way/lnk', 'way/gone')],
    'a link that a linked hook leads to': [edit.remove('way/held/mid')],
    'the folder around that link': [edit.remove('way/held', { recursive: true })],
    'the name of that folder': [edit.move('way/held', 'way/gone')],
    'a link where a repository elsewhere would be led': [edit.move('way/other', 'way/lb/soon')],
    'the same, by a copy of a folder with a link': [edit.copy('way/held', 'way/lb', { overwrite: true })],
    'a hook of a repository above the workspace': [edit.write('up/hk/pre-commit', 'x', { createDirs: true })],
    'a program that one above names': [edit.write('up/watch.sh', 'x')],
    'the folder around those': [edit.move('up', 'down')],
    'the workspace, into one': [
      edit.write('objects/x', 'x', { createDirs: true }),
      edit.write('refs/x', 'x', { createDirs: true }),
    ],
  }))
    it(`is not changed: ${what}`, async () => {
      assert.equal(await bench.refused(edits), 'path.protected');
    });

  it('is not replaced while a program runs that is kept from it', async () => {
    const folder = path.join(bench.ws, '.haft/placeholders');
    fs.mkdirSync(folder, { recursive: true });
    const record = path.join(folder, 'f-0123456789abcdef');
    const entries = [{ path: path.join(bench.ws, 'fenced/file') }];
    fs.writeFileSync(record, JSON.stringify({ process: 'somebody', entries }));
    fs.mkdirSync(path.join(bench.ws, 'fenced'));
    fs.writeFileSync(path.join(bench.ws, 'fenced/file'), 'x');
    for (const edits of [
      [edit.write('fenced/file', 'y')],
      [edit.remove('fenced/file')],
      [edit.remove('fenced', { recursive: true })],
      [edit.move('fenced/file', 'fenced/other')],
      [edit.copy('HEAD', 'fenced/file', { overwrite: true })],
    ])
      assert.equal(await bench.refused(edits), 'lock.busy');
    fs.rmSync(record);
    await bench.roundTrip([edit.write('fenced/file', 'y')]);
  });

  it('leaves everything else free', async () => {
    await bench.roundTrip([edit.write('in/src/x', 'x'), edit.write('HEAD', 'y'), edit.write('b', 'x')]);
    await bench.roundTrip([edit.write('repo/src', 'x'), edit.write('repo/conf/own', 'x')]);
    await bench.roundTrip([edit.write('away/pre-commit', 'x'), edit.write('away/a.pack', 'x')]);
    await bench.roundTrip([edit.write('away/config', 'x')]);
    await bench.roundTrip([edit.write('up/free', 'x')]);
    await bench.roundTrip([edit.move('way/other', 'way/elsewhere')]);
    await bench.roundTrip([edit.write('hooked/README', 'x'), edit.write('hooked/tools/own', 'x')]);
  });
});

describe('outlyingParts', () => {
  let root: string;
  before(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-outlying-')));
    chmodSync(root, 0o755);
    mkdirSync(join(root, 'deep/repo'), { recursive: true });
    writeFileSync(join(root, 'deep/repo/.git'), 'gitdir: ../../store\n');
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  it('names what repositories at any depth lead to', () => {
    assert.deepEqual(outlyingParts(root, 100), [join(root, 'store')]);
  });
  it('says why where there are too many entries', () => {
    assert.match(outlyingParts(root, 2) as string, /over 2 entries/);
  });
  it('does not take a folder that cannot be read for an empty one', () => {
    chmodSync(join(root, 'deep'), 0);
    const user = process.geteuid!();
    // Root reads everything.
    if (user === 0) process.seteuid!(65534);
    try {
      assert.match(outlyingParts(root, 100) as string, /deep" cannot be read/);
    } finally {
      if (user === 0) process.seteuid!(0);
      chmodSync(join(root, 'deep'), 0o755);
    }
  });
});
