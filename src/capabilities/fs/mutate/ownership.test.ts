import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openObjectStore } from '../../../stores/objects/open-object-store.ts';
import { createTestBench, edit, type TestBench } from './bench-for-tests.ts';

const isRoot = process.geteuid?.() === 0;
/** As whom an ordinary user's part runs: this one, unless this is root. */
const NOBODY = isRoot ? 65_534 : process.geteuid!();
let bench: TestBench;
beforeEach(() => {
  bench = createTestBench((folder) => openObjectStore({ folder, process: 'test' }));
});
afterEach(() => bench.close());

/** Everything at and below a path: type, bits, owner. */
function facts(name: string, found: Record<string, string> = {}, top = name): Record<string, string> {
  const full = path.join(bench.ws, name);
  const stat = fs.lstatSync(full);
  const bits = stat.isSymbolicLink() ? 'link' : (stat.mode & 0o7777).toString(8);
  found[path.relative(top, name) || '.'] = `${bits} ${stat.uid}:${stat.gid}`;
  if (stat.isDirectory()) for (const child of fs.readdirSync(full)) facts(path.join(name, child), found, top);
  return found;
}

function make(name: string, mode: number, owner: readonly [number, number] | undefined): void {
  const full = path.join(bench.ws, name);
  if (name.endsWith('/')) fs.mkdirSync(full);
  else fs.writeFileSync(full, name);
  if (owner) fs.chownSync(full, ...owner);
  fs.chmodSync(full, mode);
}

/** Folders that allow little, bits beyond the usual nine, and what the umask would take away. */
function makeTree(owner?: readonly [number, number], link?: readonly [number, number]): void {
  make('t/', 0o2750, owner);
  make('t/wide/', 0o1777, owner);
  make('t/wide/all', 0o666, owner);
  make('t/suid', 0o4755, owner);
  make('t/sgid', 0o2711, owner);
  make('t/ro/', 0o700, owner);
  make('t/ro/deep/', 0o700, owner);
  make('t/ro/deep/file', 0o400, owner);
  fs.symlinkSync('suid', path.join(bench.ws, 't/link'));
  if (link) fs.lchownSync(path.join(bench.ws, 't/link'), ...link);
  fs.chmodSync(path.join(bench.ws, 't/ro/deep'), 0o500);
  fs.chmodSync(path.join(bench.ws, 't/ro'), 0o555);
}

async function under(umask: number, work: () => Promise<void>): Promise<void> {
  const was = process.umask(umask);
  try {
    await work();
  } finally {
    process.umask(was);
  }
}

async function asNobody(work: () => Promise<void>): Promise<void> {
  if (!isRoot) return work();
  const groups = process.getgroups!();
  process.setgroups!([]);
  process.setegid!(NOBODY);
  process.seteuid!(NOBODY);
  try {
    await work();
  } finally {
    process.seteuid!(0);
    process.setegid!(0);
    process.setgroups!(groups);
  }
}

function giveAllToNobody(folder = bench.base): void {
  if (!isRoot) return;
  fs.lchownSync(folder, NOBODY, NOBODY);
  if (!fs.lstatSync(folder).isDirectory()) return;
  for (const name of fs.readdirSync(folder)) giveAllToNobody(path.join(folder, name));
}

const losses = (changes: readonly { path: string; lost?: readonly { what: string }[] }[]) =>
  changes.flatMap(({ path: name, lost = [] }) => lost.map(({ what }) => `${name} ${what}`));

for (const umask of [0o022, 0o077, 0o000]) {
  describe(`owners and modes, umask ${umask.toString(8)}`, () => {
    if (isRoot) {
      it('come back and are copied as root', () =>
        under(umask, async () => {
          makeTree([1234, 4321], [1234, 4321]);
          const was = facts('t');
          assert.equal(was.suid, '4755 1234:4321');
          const { changes } = await bench.run([edit.remove('t', { recursive: true })]);
          const recorded = JSON.parse(JSON.stringify(changes));
          const { changes: back } = await bench.run(edit.revert(recorded));
          assert.deepEqual(facts('t'), was);
          assert.deepEqual(losses(back), []);
          await bench.run([edit.copy('t', 'copy', { preserveMode: true })]);
          assert.deepEqual(facts('copy'), was);
          const { changes: written } = await bench.run([edit.write('t/suid', 'other')]);
          assert.equal(facts('t').suid, '755 1234:4321');
          await bench.run(edit.revert(written));
          assert.deepEqual(facts('t'), was);
        }));
    }

    it('come back as an ordinary user', async () => {
      giveAllToNobody();
      await asNobody(() =>
        under(umask, async () => {
          makeTree();
          const was = facts('t');
          const { changes } = await bench.run([edit.remove('t', { recursive: true })]);
          const { changes: back } = await bench.run(edit.revert(changes));
          assert.deepEqual(facts('t'), was);
          assert.deepEqual(losses(back), []);
          await bench.run([edit.copy('t', 'copy', { preserveMode: true })]);
          assert.deepEqual(facts('copy'), was);
        }),
      );
    });

    it('of new folders do not depend on it', () =>
      under(umask, async () => {
        await bench.run([edit.write('n/m/f', 'x', { createDirs: true })]);
        const bits = Object.values(facts('n')).map((fact) => fact.split(' ')[0]);
        assert.deepEqual(bits, ['755', '755', '644']);
        await bench.run([edit.copy('d', 'plain')]);
        assert.match(facts('plain')['.']!, /^755 /);
      }));
  });
}

describe('what cannot be given', () => {
  it('to a new folder is not taken: it keeps the group of the one above', async () => {
    fs.chmodSync(path.join(bench.ws, 'd'), 0o2775);
    await bench.run([edit.write('d/new/f', 'x', { createDirs: true })]);
    assert.match(facts('d/new')['.']!, /^2755 /);
  });

  if (isRoot) {
    it('is said, by whoever is not root, and set-user-id goes with its owner', async () => {
      giveAllToNobody();
      make('theirs', 0o6755, [1234, 4321]);
      await asNobody(async () => {
        const { changes: copied } = await bench.run([edit.copy('theirs', 'mine', { preserveMode: true })]);
        assert.equal(facts('mine')['.'], `755 ${NOBODY}:${NOBODY}`);
        assert.deepEqual(losses(copied), ['mine set_user_id', 'mine set_group_id']);
        const { changes } = await bench.run([edit.remove('theirs')]);
        const { changes: back } = await bench.run(edit.revert(JSON.parse(JSON.stringify(changes))));
        assert.equal(facts('theirs')['.'], `755 ${NOBODY}:${NOBODY}`);
        const lost = ['owner', 'set_user_id', 'group', 'set_group_id'].map((what) => `theirs ${what}`);
        assert.deepEqual(losses(back), lost);
        // What it is now can be taken back as well.
        await bench.run(edit.revert(back));
        assert.equal(fs.existsSync(path.join(bench.ws, 'theirs')), false);
      });
    });
  }

  it('is no matter where the owner was not recorded', async () => {
    const { changes } = await bench.run([edit.remove('d/x')]);
    const [{ before, ...change }] = JSON.parse(JSON.stringify(changes));
    const { uid: _, gid: __, ...old } = before;
    await bench.run(edit.revert([{ ...change, before: old }]));
    assert.match(facts('d/x')['.']!, /^755 /);
  });
});
