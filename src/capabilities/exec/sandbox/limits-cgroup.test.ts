// Owns: that cgroups of both generations are found and spelt right.
// Refuses: to fake what this machine has; only the generation that it lacks is a folder of plain files.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { createCgroupTree } from './limits.ts';

const MIB = 2 ** 20;

describe('createCgroupTree', () => {
  it('makes groups of the second generation beside the one this process is in', () => {
    const top = mkdtempSync(join(tmpdir(), 'haft-cgroup-'));
    const own = join(top, 'user.slice/login.scope');
    mkdirSync(own, { recursive: true });
    for (const [dir, given] of [
      [top, 'cpu'],
      [join(top, 'user.slice'), 'cpu memory pids'],
      [own, ''],
    ] as const) {
      writeFileSync(join(dir, 'cgroup.subtree_control'), `${given}\n`);
      writeFileSync(join(dir, 'cgroup.procs'), '');
    }
    const tree = createCgroupTree({
      cgroup: () => '0::/user.slice/login.scope\n',
      mountinfo: () => `30 23 0:26 / ${top} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n`,
    });
    assert.equal(tree?.version, 'cgroup_v2');
    const [base = ''] = tree.bases;
    assert.equal(dirname(base), join(top, 'user.slice'));
    assert.equal(readFileSync(join(base, 'cgroup.subtree_control'), 'utf8'), '+memory +pids');
    const slot = tree.slot(3);
    assert.deepEqual(slot.folders, [join(base, '3')]);
    slot.limit(64 * MIB, 10);
    assert.equal(readFileSync(join(base, '3/memory.max'), 'utf8'), String(64 * MIB));
    assert.equal(readFileSync(join(base, '3/memory.swap.max'), 'utf8'), '0');
    assert.equal(readFileSync(join(base, '3/pids.max'), 'utf8'), '14');
    writeFileSync(join(base, '3/memory.events'), 'low 0\noom 3\noom_kill 2\n');
    writeFileSync(join(base, '3/pids.events'), 'max 7\n');
    writeFileSync(join(base, '3/cpu.stat'), 'usage_usec 2500\nuser_usec 1\n');
    writeFileSync(join(base, '3/memory.peak'), '4096\n');
    assert.deepEqual(slot.counters(), { oomKills: 2, refusedForks: 7, cpuMs: 2.5, memoryPeakBytes: 4096 });
    writeFileSync(join(base, '3/cgroup.procs'), '12\n34\n');
    assert.deepEqual(slot.pids(), [12, 34]);
    rmSync(top, { recursive: true });
  });

  it('finds nothing where no ancestor hands its controllers down', () => {
    const top = mkdtempSync(join(tmpdir(), 'haft-cgroup-'));
    writeFileSync(join(top, 'cgroup.subtree_control'), 'cpu\n');
    writeFileSync(join(top, 'cgroup.procs'), '');
    const tree = createCgroupTree({
      cgroup: () => '0::/\n',
      mountinfo: () => `30 23 0:26 / ${top} rw - cgroup2 cgroup2 rw\n`,
    });
    assert.equal(tree, undefined);
    rmSync(top, { recursive: true });
  });

  it('follows a mount that shows only a part of a hierarchy', () => {
    const top = mkdtempSync(join(tmpdir(), 'haft-cgroup-'));
    for (const name of ['memory', 'pids', 'cpuacct'])
      mkdirSync(join(top, name, 'inner'), { recursive: true });
    const tree = createCgroupTree({
      cgroup: () =>
        '9:memory:/docker/abc/inner\n8:pids:/docker/abc/inner\n7:cpu,cpuacct:/docker/abc/inner\n0::/\n',
      mountinfo: () =>
        ['memory', 'pids', 'cpuacct']
          .map((name) => `30 23 0:26 /docker/abc ${join(top, name)} rw - cgroup cgroup rw,${name}`)
          .join('\n'),
    });
    assert.deepEqual(
      tree?.bases.map((base) => dirname(base)),
      ['memory', 'pids', 'cpuacct'].map((name) => join(top, name, 'inner')),
    );
    rmSync(top, { recursive: true });
  });

  it('makes real groups where this process may, and removes them', () => {
    const tree = createCgroupTree();
    if (!tree) return assert.notEqual(process.getuid?.(), 0, 'root can make cgroups here');
    const slot = tree.slot(1);
    slot.limit(64 * MIB, 10);
    assert.equal(slot.counters().oomKills, 0);
    assert.deepEqual(slot.pids(), []);
    tree.remove();
    assert.deepEqual(
      [...tree.bases, ...slot.folders].filter((folder) => existsSync(folder)),
      [],
    );
  });
});
