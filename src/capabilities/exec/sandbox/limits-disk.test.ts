import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { changedSince, watchDisk } from './limits.ts';
import { lookAtOpenFiles } from './process-tree.ts';

const MIB = 2 ** 20;
const bytes = (mib: number) => Buffer.alloc(mib * MIB, 'x');

/** Numbers of system calls, which Perl has no names for. */
const [SENDMSG, MMAP, PRCTL] = process.arch === 'arm64' ? [211, 222, 167] : [46, 9, 157];

/** Each says so when it holds a file without a name, and then waits. */
const KEEPS_DESCRIPTORS_IN_FLIGHT = `use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0); my $x = 'x';
my $iov = pack('P Q', $x, 1); my $control = pack('Q l l l x4', 20, 1, 1, fileno $f);
my $message = pack('Q L x4 P Q P Q l x4', 0, 0, $iov, 1, $control, 24, 0);
syscall(${SENDMSG}, fileno $a, $message, 0) == 1 or die; close $f; print "kept\n"; sleep 60;`;
const KEEPS_A_MAPPING = `syscall(${MMAP}, 0, 4096, 3, 1, fileno $f, 0) > 0 or die; close $f; print "kept\n"; sleep 60;`;
const SHUTS_ITSELF = `syscall(${PRCTL}, 4, 0, 0, 0, 0) == 0 or die; print "kept\n"; sleep 60;`;

async function startPerl(text: string, cwd: string): Promise<ChildProcess> {
  const opens = `$| = 1; open(my $f, '+>', 'unnamed') or die; truncate($f, 4096); unlink 'unnamed';\n`;
  const perl = spawn('perl', ['-e', opens + text], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(perl.stdout, 'data');
  return perl;
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'close');
}

let base: string;
let folder: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'haft-disk-'));
  folder = join(base, 'workspace');
  mkdirSync(join(folder, 'deep'), { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true }));

describe('watchDisk', () => {
  /** Whether it blames these processes, looked at as often as is asked. */
  const watching = (limit: number) => {
    let over = false;
    const disk = watchDisk(folder, limit, () => {
      over = true;
    });
    return async (pids: readonly number[]) => {
      await disk.look(pids);
      return over;
    };
  };

  it('counts files that have a name, however deep', async () => {
    const isOver = watching(32 * MIB);
    writeFileSync(join(folder, 'deep/a'), bytes(20));
    assert.equal(await isOver([]), false);
    writeFileSync(join(folder, 'b'), bytes(40));
    assert.equal(await isOver([]), true);
  });

  it('counts files that only have a descriptor', async () => {
    const [isOver, isOverWithout] = [watching(16 * MIB), watching(16 * MIB)];
    const fd = openSync(join(folder, 'a'), 'w');
    unlinkSync(join(folder, 'a'));
    writeSync(fd, bytes(64));
    assert.equal(await isOverWithout([]), false);
    assert.equal(await isOver([process.pid]), true);
    closeSync(fd);
  });

  it('blames nobody for what others write', async () => {
    const isOver = watching(16 * MIB);
    writeFileSync(join(base, 'beside'), bytes(64));
    assert.equal(await isOver([process.pid]), false);
    mkdirSync(join(folder, '.haft'));
    writeFileSync(join(folder, '.haft/state'), bytes(64));
    assert.equal(await isOver([process.pid]), false);
    writeFileSync(join(folder, 'own'), bytes(64));
    assert.equal(await isOver([process.pid]), true);
  });

  it('is not misled by space that somebody freed', async () => {
    writeFileSync(join(base, 'beside'), bytes(64));
    const isOver = watching(16 * MIB);
    rmSync(join(base, 'beside'));
    assert.equal(await isOver([]), false);
    writeFileSync(join(folder, 'own'), bytes(48));
    assert.equal(await isOver([]), true);
  });

  it('blames whoever keeps files where nobody can count them, and only for what is gone', async () => {
    const perl = await startPerl(KEEPS_DESCRIPTORS_IN_FLIGHT, folder);
    const pids = [perl.pid!];
    const [isOver, isOverOfLess] = [watching(2 ** 50), watching(8 * MIB)];
    writeFileSync(join(base, 'beside'), bytes(64));
    assert.equal(await isOver(pids), false);
    assert.equal(await isOverOfLess([]), false);
    writeFileSync(join(base, 'beside too'), bytes(64));
    assert.equal(await isOverOfLess(pids), true);
    await end(perl);
  });
});

describe('changedSince', () => {
  const sum = (since: number) => {
    const all = [...changedSince(folder, since)];
    return {
      mib: Math.round(all.reduce((total, one) => total + one.bytes, 0) / MIB),
      hidden: all.some(({ hidden }) => hidden),
    };
  };

  it('counts what takes space, not what a file pretends to be', () => {
    const since = Date.now() - 20;
    const fd = openSync(join(folder, 'sparse'), 'w');
    ftruncateSync(fd, 2 ** 40);
    assert.deepEqual(sum(since), { mib: 0, hidden: false });
    writeSync(fd, bytes(4), 0, 4 * MIB, 2 ** 39);
    assert.deepEqual(sum(since), { mib: 4, hidden: false });
    closeSync(fd);
  });

  it('counts folders and links, and files whose times were set back', () => {
    const since = Date.now() - 20;
    for (let at = 0; at < 512; at++) {
      mkdirSync(join(folder, `deep/folder${at}`));
      symlinkSync('x'.repeat(200), join(folder, `deep/link${at}`));
    }
    writeFileSync(join(folder, 'old'), bytes(2));
    utimesSync(join(folder, 'old'), 1, 1);
    // Some file systems keep folders or links within their parents.
    assert.ok(sum(since).mib >= 2);
    assert.deepEqual(sum(Date.now() + 60_000), { mib: 0, hidden: false });
  });

  it('tells of a place that is too deep, or was shut, since then', () => {
    const since = Date.now() - 20;
    const name = 'n'.repeat(200);
    const nest = (depth: number) =>
      execFileSync('perl', ['-e', `for (1..${depth}) { mkdir '${name}'; chdir '${name}' or die }`], {
        cwd: folder,
      });
    nest(10);
    assert.equal(sum(since).hidden, false);
    nest(30);
    assert.equal(sum(since).hidden, true);
    // Node.js cannot remove what it cannot name.
    execFileSync('rm', ['-rf', join(folder, name)]);
    if (process.getuid?.() === 0) return;
    mkdirSync(join(folder, 'shut'));
    chmodSync(join(folder, 'shut'), 0o300);
    assert.equal(sum(since).hidden, true);
    assert.equal(sum(Date.now() + 60_000).hidden, false);
    chmodSync(join(folder, 'shut'), 0o700);
  });
});

describe('lookAtOpenFiles', () => {
  for (const [name, text] of Object.entries({
    'descriptors in a message on its way': KEEPS_DESCRIPTORS_IN_FLIGHT,
    'a file that is only in memory': KEEPS_A_MAPPING,
    ...(process.getuid?.() === 0 ? {} : { 'a process that shuts itself': SHUTS_ITSELF }),
  })) {
    it(`sees that there is ${name}`, async () => {
      const perl = await startPerl(text, folder);
      assert.deepEqual(lookAtOpenFiles(folder, [perl.pid!]), { unnamed: 0, hidden: true });
      await end(perl);
      assert.deepEqual(lookAtOpenFiles(folder, [perl.pid!]), { unnamed: 0, hidden: false });
    });
  }

  it('sees nothing of the kind in this process', () => {
    assert.deepEqual(lookAtOpenFiles(folder, [process.pid]), { unnamed: 0, hidden: false });
  });
});
