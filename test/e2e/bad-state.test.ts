// Owns: the proof that a bad policy, a damaged database and a disk that does not take writes are told clearly and lose nothing.
// Refuses: pretended disks: what is full is full, and what is read-only is mounted so.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { createRuntime, ERRORS, type Reason } from '../../src/index.ts';
import { cli, cliJson } from './support/cli.ts';
import { haft, type Ran } from './support/haft.ts';
import { startMcp } from './support/mcp-lines.ts';
import { makePrivateMount, mounting } from './support/private-mount.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

/** One JSON document on standard output, the reason in it, and the exit code that the table has for it. */
function assertRefused({ status, stdout, stderr }: Ran, reason: Reason, message?: RegExp): void {
  const document = JSON.parse(stdout);
  assert.equal(document.ok, false, stdout);
  assert.equal(document.errors[0].reason, reason, stdout);
  assert.equal(document.errors[0].code, ERRORS[reason].code);
  assert.equal(status, ERRORS[reason].exit, stderr);
  if (message) assert.match(document.errors[0].message, message);
}

const assertDone = ({ status, stdout, stderr }: Ran) => assert.equal(status, 0, stdout + stderr);

const READ = ['call', 'file_read', '{"path":"a.txt"}', '--json'];
const write = (path: string, content: string) => [
  'call',
  'file_write',
  JSON.stringify({ path, content }),
  '--json',
];

describe('a haft.yaml with problems', () => {
  const POLICY = 'version: 1\nnetwrk: {}\nshell_allow:\n  - "^ls\\s"\npaths:\n  rules: 7\n';
  const assertTold = (text: string) => {
    for (const place of [
      /haft\.yaml:2:1: error key\.unknown/,
      /did you mean network\?/,
      /haft\.yaml:4:\d+: error yaml\.escape/,
      /haft\.yaml:6:\d+: error/,
    ])
      assert.match(text, place);
  };
  const using = async (work: (workspace: Workspace) => Promise<void>) => {
    const workspace = makeWorkspace({ 'a.txt': 'a\n', 'haft.yaml': POLICY });
    try {
      await work(workspace);
      assert.equal(existsSync(workspace.path('.haft')), false, 'nothing was started');
    } finally {
      workspace.remove();
    }
  };

  it('refuses the SDK a runtime, with every diagnostic', () =>
    using(async ({ root }) => {
      await assert.rejects(createRuntime({ workspace: root }), (error: Error & { reason: string }) => {
        assert.equal(error.reason, 'policy.invalid');
        assertTold(error.message);
        return true;
      });
    }));

  it('refuses every command that would start, with every diagnostic', () =>
    using(async ({ root }) => {
      for (const argv of [
        ['call', 'file_read', '{"path":"a.txt"}'],
        ['tools', 'list'],
        ['audit', 'verify'],
        ['undo', 'call_x'],
        ['serve'],
        ['approvals', 'list'],
      ]) {
        const { status, stderr, document } = await cliJson(root, ...argv);
        assert.equal(status, ERRORS['policy.invalid'].exit, argv.join(' '));
        assert.equal(document.errors[0].reason, 'policy.invalid');
        assertTold(document.errors[0].message);
        assert.equal(stderr, '');
      }
    }));

  it('ends haft call and haft serve with the exit code of the table', () =>
    using(async ({ root }) => {
      assertRefused(await haft(READ, { cwd: root }), 'policy.invalid');
      const serve = await haft(['serve', '--port', '0'], { cwd: root });
      assert.equal(serve.status, ERRORS['policy.invalid'].exit);
      assert.equal(serve.stdout, '');
      assertTold(serve.stderr);
    }));

  it('answers every request over MCP with the diagnostics, and ends with the exit code of the table', () =>
    using(async ({ root }) => {
      const mcp = startMcp(root);
      const { error } = await mcp.ask('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
      assert.equal(error.data.reason, 'policy.invalid');
      assertTold(error.message);
      const { status, stderr } = await mcp.close();
      assert.equal(status, ERRORS['policy.invalid'].exit);
      assertTold(stderr);
    }));

  it('is what policy check tells, too', () =>
    using(async ({ root }) => {
      const { status, document } = await cliJson(root, 'policy', 'check');
      assert.equal(status, ERRORS['policy.invalid'].exit);
      assert.equal(document.ok, false);
      assert.deepEqual(
        document.diagnostics.map((one: { line: number }) => one.line),
        [2, 4, 6],
      );
    }));

  it('that is no text, of another version, empty or a folder refuses the start', () =>
    using(async (workspace) => {
      const policy = workspace.path('haft.yaml');
      for (const make of [
        () => writeFileSync(policy, randomBytes(100)),
        () => writeFileSync(policy, 'version: 2\n'),
        () => writeFileSync(policy, ''),
        () => workspace.put('haft.yaml/inner', ''),
      ]) {
        rmSync(policy, { recursive: true });
        make();
        const { status, document } = await cliJson(workspace.root, 'call', 'file_read', '{"path":"a.txt"}');
        assert.equal(status, ERRORS['policy.invalid'].exit, JSON.stringify(document));
        assert.equal(document.errors[0].reason, 'policy.invalid');
      }
    }));
});

describe('a database that is not as it was', () => {
  /** A workspace with a history, its head, and a damage that is done to the database file. */
  const damaged = async (
    damage: (file: string) => void,
    ask: (workspace: Workspace, head: string) => Promise<void>,
  ) => {
    const workspace = makeWorkspace({ 'a.txt': 'a\n' });
    const { root } = workspace;
    try {
      for (let i = 0; i < 8; i++) await cli(root, ...write(`f${i}.txt`, 'x'.repeat(500)));
      const head = (await cli(root, 'audit', 'head')).stdout.trim();
      const file = workspace.path('.haft/haft.db');
      const database = new DatabaseSync(file);
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
      for (const beside of ['-wal', '-shm']) rmSync(file + beside, { force: true });
      damage(file);
      await ask(workspace, head);
    } finally {
      workspace.remove();
    }
  };
  const assertStopped = async ({ root, path }: Workspace, reason: Reason) => {
    const before = readFileSync(path('.haft/haft.db'));
    assertRefused(await cli(root, ...READ), reason);
    assertRefused(await cli(root, ...write('new.txt', 'new')), reason);
    assert.equal((await cli(root, 'audit', 'verify')).status, ERRORS[reason].exit);
    await assert.rejects(createRuntime({ workspace: root }), { reason });
    assert.equal(existsSync(path('new.txt')), false);
    assert.deepEqual(readFileSync(path('.haft/haft.db')), before, 'the evidence was touched');
  };

  it('random bytes are store.corrupt, at the command line, too', () =>
    damaged(
      (file) => writeFileSync(file, randomBytes(50_000)),
      async (workspace) => {
        await assertStopped(workspace, 'store.corrupt');
        assertRefused(
          await haft(READ, { cwd: workspace.root }),
          'store.corrupt',
          /move the state folder aside/,
        );
      },
    ));

  it('a truncated file is store.corrupt', () =>
    damaged(
      (file) => truncateSync(file, 10_000),
      (workspace) => assertStopped(workspace, 'store.corrupt'),
    ));

  it('a header of noise is store.corrupt', () =>
    damaged(
      (file) => writeFileSync(file, Buffer.concat([randomBytes(100), readFileSync(file).subarray(100)])),
      (workspace) => assertStopped(workspace, 'store.corrupt'),
    ));

  it('a database of somebody else is store.corrupt, and stays as it is', () =>
    damaged(
      (file) => {
        rmSync(file);
        const database = new DatabaseSync(file);
        database.exec("CREATE TABLE theirs (a); INSERT INTO theirs VALUES ('precious')");
        database.close();
      },
      (workspace) => assertStopped(workspace, 'store.corrupt'),
    ));

  it('a newer schema is store.newer', () =>
    damaged(
      (file) => {
        const database = new DatabaseSync(file);
        database.exec('PRAGMA user_version = 99');
        database.close();
      },
      (workspace) => assertStopped(workspace, 'store.newer'),
    ));

  it('a page of noise in the middle never passes as a whole audit', () =>
    damaged(
      (file) => {
        const bytes = readFileSync(file);
        for (let page = 2; page * 4096 < bytes.length; page += 1) bytes.set(randomBytes(4096), page * 4096);
        writeFileSync(file, bytes);
      },
      async ({ root }) => {
        const { status, stdout, stderr } = await cli(root, 'audit', 'verify');
        assert.notEqual(status, 0, stdout);
        assert.match(stderr, /store\.corrupt|audit\.broken/);
      },
    ));

  it('an empty file starts a new audit, which a kept head tells from the old', () =>
    damaged(
      (file) => truncateSync(file, 0),
      async ({ root }, head) => {
        assertDone(await cli(root, ...READ));
        assert.equal((await cli(root, 'audit', 'verify', '--head', head)).status, 1);
      },
    ));

  it('moved aside, as the message says, everything works again', () =>
    damaged(
      (file) => writeFileSync(file, 'noise'),
      async ({ root, path }) => {
        cpSync(path('.haft'), path('evidence'), { recursive: true });
        rmSync(path('.haft'), { recursive: true });
        assertDone(await cli(root, ...READ));
      },
    ));

  it('a state folder that is a file or a link is refused', async () => {
    const workspace = makeWorkspace({ 'a.txt': 'a\n', '.haft': 'a file' });
    try {
      assertRefused(await cli(workspace.root, ...READ), 'store.unwritable', /not a folder/);
      rmSync(workspace.path('.haft'));
      workspace.put('elsewhere/a.txt', '');
      symlinkSync('elsewhere', workspace.path('.haft'));
      assertRefused(await cli(workspace.root, ...READ), 'store.unwritable', /not a folder/);
      assert.deepEqual(readdirSync(workspace.path('elsewhere')), ['a.txt']);
    } finally {
      workspace.remove();
    }
  });
});

describe('a disk that is full', { skip: mounting.missing }, () => {
  it('refuses clearly, keeps what was, and goes on once there is space', async () => {
    const disk = await makePrivateMount(2);
    try {
      assertDone(disk.haft(write('a.txt', 'before')));
      const head = disk.haft(['audit', 'head']).stdout.trim();
      disk.fill();
      for (const argv of [write('a.txt', 'after'), write('new.txt', 'new'), READ])
        assertRefused(disk.haft(argv), 'file.no_space');
      const plain = disk.haft(write('a.txt', 'after').slice(0, -1));
      assert.match(plain.stderr, /^haft: Cannot .*: the disk is full.* \[E_FILE_IO file\.no_space\]\n$/);
      assertDone(disk.haft(['audit', 'verify', '--head', head]));
      assert.equal(readFileSync(disk.seen('a.txt'), 'utf8'), 'before');
      assert.deepEqual(readdirSync(disk.seen('.')).sort(), ['.fill', '.haft', 'a.txt']);
      disk.free();
      assertDone(disk.haft(write('a.txt', 'after')));
      assertDone(disk.haft(READ));
      assertDone(disk.haft(['audit', 'verify', '--head', head]));
      assert.equal(readFileSync(disk.seen('a.txt'), 'utf8'), 'after');
    } finally {
      await disk.close();
    }
  });

  it('refuses content that does not fit, and leaves no part of it', async () => {
    const disk = await makePrivateMount(2);
    try {
      const args = JSON.stringify({ path: 'big.txt', content: 'x'.repeat(1_200_000) });
      const big = `${disk.folder}.json`;
      writeFileSync(big, args);
      assertDone(disk.haft(['call', 'file_write', `@${big}`, '--json']));
      writeFileSync(big, args.replace('big.txt', 'big2.txt'));
      assertRefused(disk.haft(['call', 'file_write', `@${big}`, '--json']), 'file.no_space', /big2\.txt/);
      rmSync(big);
      assert.deepEqual(readdirSync(disk.seen('.')).sort(), ['.haft', 'big.txt']);
      assertDone(disk.haft(['call', 'fs_delete', '{"path":"big.txt","no_undo":true}', '--json']));
      assertDone(disk.haft(write('small.txt', 'x')));
      assertDone(disk.haft(['audit', 'verify']));
    } finally {
      await disk.close();
    }
  });

  it('lets no read go unrecorded that was answered before its row was written', async () => {
    const disk = await makePrivateMount(2);
    try {
      const script = join(import.meta.dirname, 'support/reads-on-a-full-disk.ts');
      const { stdout, stderr } = disk.sh(`'${process.execPath}' '${script}' '${disk.folder}'`);
      const { answered, ...told } = JSON.parse(stdout || stderr);
      assert.deepEqual(told, { refused: 'file.no_space', again: 'file.no_space', after: null });
      const rows = JSON.parse(disk.haft(['audit', 'list', '--last', '100000', '--json']).stdout).rows;
      const ok = rows.filter(({ outcome }: { outcome: string }) => outcome === 'ok');
      assert.equal(ok.length, answered);
      assertDone(disk.haft(['audit', 'verify']));
    } finally {
      await disk.close();
    }
  });

  it('refuses the first start, and starts once there is space', async () => {
    const disk = await makePrivateMount(1);
    try {
      disk.sh('echo a > a.txt');
      disk.fill();
      assertRefused(disk.haft(READ), 'file.no_space');
      disk.free();
      assertDone(disk.haft(READ));
      assertDone(disk.haft(['audit', 'verify']));
      assert.equal(readFileSync(disk.seen('.haft/.gitignore'), 'utf8'), '*\n');
    } finally {
      await disk.close();
    }
  });
});

describe('a disk that is read-only', { skip: mounting.missing }, () => {
  it('below the state folder refuses to record, shows the audit, and goes on once it is not', async () => {
    const disk = await makePrivateMount(2);
    try {
      assertDone(disk.haft(write('a.txt', 'before')));
      const head = disk.haft(['audit', 'head']).stdout.trim();
      disk.sh('mount -o remount,ro .');
      assertRefused(disk.haft(READ), 'store.unwritable');
      assertRefused(disk.haft(write('a.txt', 'after')), 'store.unwritable');
      assert.equal(disk.haft(['audit', 'head']).stdout.trim(), head);
      assertDone(disk.haft(['audit', 'verify', '--head', head]));
      assert.equal(disk.haft(['init']).status, ERRORS['path.denied_by_os'].exit);
      disk.sh('mount -o remount,rw .');
      assertDone(disk.haft(write('a.txt', 'after')));
      assertDone(disk.haft(['audit', 'verify', '--head', head]));
    } finally {
      await disk.close();
    }
  });

  it('from the first start on refuses it', async () => {
    const disk = await makePrivateMount(1);
    try {
      disk.sh('echo a > a.txt; mount -o remount,ro .');
      assertRefused(disk.haft(READ), 'store.unwritable');
    } finally {
      await disk.close();
    }
  });

  it('below a folder of the workspace refuses to change anything there', async () => {
    const disk = await makePrivateMount(2);
    try {
      assertDone(disk.haft(write('a.txt', 'a')));
      disk.sh('mkdir ro && mount -t tmpfs tmpfs ro && echo z > ro/z && mount -o remount,ro ro');
      const calls: [string, object][] = [
        ['file_write', { path: 'ro/z', content: 'x' }],
        ['file_write', { path: 'ro/new/deep.txt', content: 'x' }],
        ['file_patch', { path: 'ro/z', unified_diff: '@@ -1 +1 @@\n-z\n+y\n' }],
        ['fs_delete', { path: 'ro/z' }],
        ['fs_move', { src: 'ro/z', dst: 'z' }],
        ['fs_move', { src: 'a.txt', dst: 'ro/a.txt' }],
        ['fs_copy', { src: 'a.txt', dst: 'ro/a.txt' }],
      ];
      for (const [tool, args] of calls) {
        const ran = disk.haft(['call', tool, JSON.stringify(args), '--json']);
        assertRefused(ran, 'file.read_only');
        assert.equal(JSON.parse(ran.stdout).warnings, undefined, ran.stdout);
      }
      assertDone(disk.haft(['call', 'fs_copy', '{"src":"ro/z","dst":"z"}', '--json']));
      assert.deepEqual(readdirSync(disk.seen('.')).sort(), ['.haft', 'a.txt', 'ro', 'z']);
      assertDone(disk.haft(['audit', 'verify']));
    } finally {
      await disk.close();
    }
  });
});
