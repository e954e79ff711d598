import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { sha256Hex } from '../../../base/digest.ts';
import type { Change, Edit } from '../../../contract/capability.ts';
import type { ObjectStore } from '../../../contract/object-store.ts';
import { openObjectStore } from '../../../stores/objects/open-object-store.ts';
import { createFsHandle } from '../handle.ts';
import { createTestScope, type TestScope, type TestScopeOptions } from '../scope-for-tests.ts';
import { isTempName } from '../temp-name.ts';

let base: string;
let ws: string;
let objects: ObjectStore;
let count = 0;

before(() => {
  base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-mutate-')));
  objects = openObjectStore({ folder: path.join(base, 'objects'), process: 'test' });
});
beforeEach(() => {
  ws = path.join(base, `ws${count++}`);
  fs.mkdirSync(path.join(ws, 'd/e'), { recursive: true });
  fs.mkdirSync(path.join(base, 'outside'), { recursive: true });
  fs.writeFileSync(path.join(base, 'outside/o'), 'OUTSIDE');
  put('a', 'one');
  put('d/x', 'ex');
  put('d/e/y', 'why');
  fs.chmodSync(path.join(ws, 'd/x'), 0o755);
  fs.symlinkSync('x', path.join(ws, 'd/link'));
});
after(() => fs.rmSync(base, { recursive: true, force: true }));

function put(name: string, text: string): void {
  fs.writeFileSync(path.join(ws, name), text);
}

const bytes = (text: string) => new TextEncoder().encode(text);
const write = (name: string, text: string, more: object = {}): Edit => ({
  op: 'write',
  path: name,
  bytes: bytes(text),
  ...more,
});
const move = (from: string, to: string, overwrite = false): Edit => ({ op: 'move', from, to, overwrite });
const copy = (from: string, to: string, more: object = {}): Edit => ({
  op: 'copy',
  from,
  to,
  overwrite: false,
  ...more,
});
const remove = (name: string, more: object = {}): Edit => ({
  op: 'delete',
  path: name,
  recursive: false,
  force: false,
  ...more,
});

/** `path → content, target or folder`, with permission bits. */
function tree(folder = ws, prefix = ''): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    const rel = prefix + entry.name;
    const mode = (fs.lstatSync(full).mode & 0o7777).toString(8);
    if (entry.isSymbolicLink()) found[rel] = `-> ${fs.readlinkSync(full)}`;
    else if (entry.isFile()) found[rel] = `${mode} ${fs.readFileSync(full, 'utf8')}`;
    else if (entry.isDirectory()) Object.assign(found, { [rel]: `${mode} /` }, tree(full, `${rel}/`));
    else found[rel] = 'special';
  }
  return found;
}

async function run(
  edits: Edit[],
  options: TestScopeOptions = {},
): Promise<{ changes: readonly Change[]; scope: TestScope }> {
  const scope = createTestScope(ws, objects, options);
  const changes = await createFsHandle(scope).mutate(edits);
  return { changes, scope };
}

async function refused(edits: Edit[], options: TestScopeOptions = {}): Promise<string> {
  const was = tree();
  const preview = await createFsHandle(createTestScope(ws, objects, options))
    .preview(edits)
    .then(
      () => 'none',
      (thrown) => thrown.reason,
    );
  const reason = await run(edits, options).then(
    () => 'none',
    (thrown) => thrown.reason ?? String(thrown),
  );
  assert.deepEqual(tree(), was, 'a refusal leaves everything as it was');
  if (!options.intend) assert.equal(preview, reason, 'a preview refuses as the real call does');
  return reason;
}

/** Takes back what the edits did, and checks that all is as before. */
async function roundTrip(edits: Edit[], options: TestScopeOptions = {}): Promise<readonly Change[]> {
  const was = tree();
  const previewed = await createFsHandle(createTestScope(ws, objects, options)).preview(edits);
  assert.deepEqual(tree(), was, 'a preview changes nothing');
  const { changes, scope } = await run(edits, options);
  assert.deepEqual(
    previewed,
    changes.map((change) => ({ ...change, stored: false })),
  );
  assert.deepEqual(scope.intents, [changes]);
  const recorded: Change[] = JSON.parse(JSON.stringify(changes));
  const now = tree();
  assert.deepEqual(
    Object.keys(now).filter((name) => isTempName(path.basename(name))),
    [],
  );
  const { changes: back } = await run(recorded.toReversed().map((change) => ({ op: 'revert', change })));
  assert.deepEqual(tree(), was);
  // Taking back what was taken back leads forward again.
  await run(back.toReversed().map((change) => ({ op: 'revert', change })));
  assert.deepEqual(tree(), now);
  await run(recorded.toReversed().map((change) => ({ op: 'revert', change })));
  assert.deepEqual(tree(), was);
  return changes;
}

describe('mutate write', () => {
  it('creates and replaces, and can be taken back', async () => {
    const changes = await roundTrip([write('a', 'two'), write('new', 'n')]);
    assert.deepEqual(changes, [
      {
        path: 'a',
        before: { type: 'file', object: `sha256:${sha256Hex('one')}`, size: 3, mode: 0o644 },
        after: { type: 'file', object: `sha256:${sha256Hex('two')}`, size: 3, mode: 0o644 },
        stored: true,
      },
      {
        path: 'new',
        before: null,
        after: { type: 'file', object: `sha256:${sha256Hex('n')}`, size: 1, mode: 0o644 },
        stored: true,
      },
    ]);
    assert.equal(Buffer.from(await objects.get(`sha256:${sha256Hex('one')}`)).toString(), 'one');
  });

  it('keeps permission bits, or takes those that are given', async () => {
    await run([write('d/x', 'new'), write('a', 'new', { mode: 0o600 })]);
    assert.equal(tree()['d/x'], '755 new');
    assert.equal(tree().a, '600 new');
  });

  it('makes folders only when asked to', async () => {
    assert.equal(await refused([write('p/q/r', 'x')]), 'path.not_found');
    const changes = await roundTrip([write('p/q/r', 'x', { createDirs: true }), write('p/s', 'y')]);
    assert.deepEqual(
      changes.map((change) => change.path),
      ['p', 'p/q', 'p/q/r', 'p/s'],
    );
  });

  it('writes through a link, also to where nothing is yet', async () => {
    fs.symlinkSync('d/new', path.join(ws, 'dangling'));
    const changes = await roundTrip([write('d/link', 'L'), write('dangling', 'D')]);
    assert.deepEqual(
      changes.map((change) => change.path),
      ['d/x', 'd/new'],
    );
  });

  it('refuses what is not there to be written', async () => {
    fs.symlinkSync(path.join(base, 'outside'), path.join(ws, 'out'));
    fs.symlinkSync(path.join(base, 'outside/none'), path.join(ws, 'out-none'));
    for (const name of ['out/o', 'out/new', 'out-none', '../outside/o', '/etc/x', `${base}/outside/o`]) {
      assert.equal(await refused([write(name, 'x', { createDirs: true })]), 'path.outside_workspace', name);
    }
    assert.equal(await refused([write('d', 'x')]), 'path.is_directory');
    assert.equal(await refused([write('a/b', 'x', { createDirs: true })]), 'path.not_directory');
    assert.equal(await refused([write('a', 'x', { mustCreate: true })]), 'path.exists');
    assert.equal(await refused([write('d/.haft-tmp-1-2-3-4', 'x')]), 'path.protected');
    assert.deepEqual(fs.readdirSync(path.join(base, 'outside')), ['o']);
  });

  it('takes an absolute path below the workspace', async () => {
    const { changes } = await run([write(path.join(ws, 'a'), 'x')]);
    assert.equal(changes[0]?.path, 'a');
  });

  it('refuses a version that was not expected', async () => {
    const expectedSha256 = sha256Hex('other');
    assert.equal(await refused([write('a', 'x', { expectedSha256 })]), 'file.conflict');
    assert.equal(await refused([write('none', 'x', { expectedSha256 })]), 'file.conflict');
    await run([write('a', 'x', { expectedSha256: sha256Hex('one') })]);
    assert.equal(tree().a, '644 x');
  });

  it('asks about the place that a link leads to', async () => {
    const denies = (effect: { path?: string }) => effect.path === 'd/x';
    assert.equal(await refused([write('d/link', 'L')], { denies: denies as never }), 'policy.denied');
    const { scope } = await run([write('d/link', 'L')]);
    assert.deepEqual(scope.admitted, [
      { kind: 'fs.write', path: 'd/link' },
      { kind: 'fs.write', path: 'd/x' },
    ]);
  });

  it('builds edits of one mutation on each other', async () => {
    await roundTrip([write('a', 'two'), write('a', 'three'), move('a', 'b'), copy('b', 'c'), remove('b')]);
  });
});

describe('mutate move', () => {
  it('moves a file, and replaces one when asked to', async () => {
    assert.equal(await refused([move('a', 'd/x')]), 'path.exists');
    const changes = await roundTrip([move('a', 'd/x', true)]);
    assert.equal(changes[0]?.movedFrom, 'a');
    assert.equal(changes.length, 1);
  });

  it('moves a whole tree in one change', async () => {
    const changes = await roundTrip([move('d', 'moved')]);
    assert.equal(changes.length, 1);
    assert.match(changes[0]?.fingerprint ?? '', /^[0-9a-f]{64}$/);
  });

  it('moves a link, not what it points at', async () => {
    await roundTrip([move('d/link', 'l')]);
    await run([move('d/link', 'l')]);
    assert.equal(tree().l, '-> x');
  });

  it('takes an empty folder for free, and no other', async () => {
    fs.mkdirSync(path.join(ws, 'empty'));
    assert.equal(await refused([move('d', 'empty')]), 'path.exists');
    await roundTrip([move('d', 'empty', true)]);
    put('empty/z', 'z');
    assert.equal(await refused([move('d', 'empty', true)]), 'path.not_empty');
    assert.equal(await refused([move('a', 'empty', true)]), 'path.is_directory');
    assert.equal(await refused([move('d', 'a', true)]), 'path.not_directory');
  });

  it('refuses to move into itself, onto itself, from nowhere or the workspace', async () => {
    assert.equal(await refused([move('d', 'd/e/f')]), 'path.invalid');
    assert.equal(await refused([move('a', 'a', true)]), 'path.invalid');
    assert.equal(await refused([move('none', 'b')]), 'path.not_found');
    assert.equal(await refused([move('.', 'b')]), 'path.protected');
    assert.equal(await refused([move('a', 'p/q')]), 'path.not_found');
  });

  it('does not carry away what policy hides', async () => {
    const denies = (effect: { kind: string; path?: string }) =>
      effect.kind === 'fs.read' && effect.path === 'd/e/y';
    assert.equal(await refused([move('d/e/y', 'b')], { denies: denies as never }), 'policy.denied');
    assert.equal(await refused([move('d', 'b')], { denies: denies as never }), 'policy.denied');
    const write = (effect: { kind: string; path?: string }) =>
      effect.kind === 'fs.write' && effect.path === 'b/e/y';
    assert.equal(await refused([move('d', 'b')], { denies: write as never }), 'policy.denied');
  });

  it('treats another name of the same file as such', async () => {
    fs.linkSync(path.join(ws, 'a'), path.join(ws, 'a2'));
    await run([move('a', 'a2', true)]);
    assert.equal(tree().a, undefined);
    assert.equal(tree().a2, '644 one');
  });

  it('carries trees to another file system', async (t) => {
    const other = fs.mkdtempSync('/dev/shm/haft-other-');
    t.after(() => fs.rmSync(other, { recursive: true, force: true }));
    if (fs.statSync(other).dev === fs.statSync(ws).dev) return t.diagnostic('no second file system here');
    const options = { extraRoots: [other] };
    const was = tree();
    const { changes } = await run([move('d', `${other}/d`), move('a', `${other}/a`)], options);
    assert.deepEqual(Object.keys(tree()), []);
    assert.deepEqual(Object.keys(tree(other)).sort(), ['a', 'd', 'd/e', 'd/e/y', 'd/link', 'd/x']);
    assert.equal(tree(other)['d/x'], '755 ex');
    await run(
      changes.toReversed().map((change) => ({ op: 'revert', change })),
      options,
    );
    assert.deepEqual(tree(), was);
    assert.deepEqual(tree(other), {});
    return undefined;
  });
});

describe('mutate copy', () => {
  it('copies files with or without their permission bits', async () => {
    await roundTrip([copy('d/x', 'x1'), copy('d/x', 'x2', { preserveMode: true })]);
    await run([copy('d/x', 'x1'), copy('d/x', 'x2', { preserveMode: true })]);
    assert.equal(tree().x1, '644 ex');
    assert.equal(tree().x2, '755 ex');
  });

  it('copies trees, links as links', async () => {
    await roundTrip([copy('d', 'p/d2', { createDirs: true, preserveMode: true })]);
    await run([copy('d', 'd2', { preserveMode: true })]);
    assert.deepEqual(tree(path.join(ws, 'd2')), tree(path.join(ws, 'd')));
  });

  it('merges onto a folder when it may overwrite', async () => {
    fs.mkdirSync(path.join(ws, 'm'));
    put('m/x', 'old');
    put('m/z', 'z');
    assert.equal(await refused([copy('d', 'm')]), 'path.exists');
    await roundTrip([copy('d', 'm', { overwrite: true })]);
    await run([copy('d', 'm', { overwrite: true })]);
    assert.equal(tree()['m/x'], '644 ex');
    assert.equal(tree()['m/z'], '644 z');
  });

  it('follows the link that it is given, inside only', async () => {
    fs.symlinkSync(path.join(base, 'outside/o'), path.join(ws, 'out'));
    await run([copy('d/link', 'l')]);
    assert.equal(tree().l, '644 ex');
    assert.equal(await refused([copy('out', 'o')]), 'path.outside_workspace');
  });

  it('asks about every entry of a tree', async () => {
    for (const kind of ['fs.read', 'fs.write']) {
      const denied = kind === 'fs.read' ? 'd/e/y' : 'c/e/y';
      const denies = (effect: { kind: string; path?: string }) =>
        effect.kind === kind && effect.path === denied;
      assert.equal(await refused([copy('d', 'c')], { denies: denies as never }), 'policy.denied');
    }
  });

  it('refuses a copy into itself', async () => {
    assert.equal(await refused([copy('d', 'd/e/f')]), 'path.invalid');
    assert.equal(await refused([copy('a', 'a', { overwrite: true })]), 'path.invalid');
  });
});

describe('mutate delete', () => {
  it('deletes files, links, empty folders and, when asked to, trees', async () => {
    fs.mkdirSync(path.join(ws, 'empty'));
    await roundTrip([remove('a'), remove('d/link'), remove('empty')]);
    assert.equal(await refused([remove('d')]), 'path.not_empty');
    const changes = await roundTrip([remove('d', { recursive: true })]);
    assert.deepEqual(
      changes.map((change) => change.path),
      ['d/x', 'd/link', 'd/e/y', 'd/e', 'd'],
    );
  });

  it('deletes a link that leaves, not what it points at', async () => {
    fs.symlinkSync(path.join(base, 'outside'), path.join(ws, 'out'));
    await roundTrip([remove('out', { recursive: true })]);
    assert.equal(fs.readFileSync(path.join(base, 'outside/o'), 'utf8'), 'OUTSIDE');
    assert.equal(await refused([remove('out/o')]), 'path.outside_workspace');
  });

  it('takes nothing for a failure unless forced', async () => {
    assert.equal(await refused([remove('none')]), 'path.not_found');
    assert.equal(await refused([remove('a/b')]), 'path.not_found');
    const { changes, scope } = await run([remove('none', { force: true }), remove('a/b', { force: true })]);
    assert.deepEqual([changes, scope.intents], [[], []]);
    assert.equal(await refused([remove('.', { recursive: true, force: true })]), 'path.protected');
  });

  it('asks about every entry of a tree', async () => {
    const denies = (effect: { path?: string }) => effect.path === 'd/e/y';
    assert.equal(
      await refused([remove('d', { recursive: true })], { denies: denies as never }),
      'policy.denied',
    );
  });

  it('refuses more than undo may keep, unless nothing is to be kept', async () => {
    const undo = { keep: true, maxBytes: 4 };
    assert.equal(await refused([remove('d', { recursive: true })], { undo }), 'undo.too_large');
    const { changes } = await run([remove('d', { recursive: true })], { undo: { keep: false, maxBytes: 4 } });
    assert.equal(changes.find((change) => change.path === 'd/x')?.stored, false);
    const revert = changes.toReversed().map((change): Edit => ({ op: 'revert', change }));
    assert.equal(await refused(revert), 'object.missing');
  });

  it('keeps large files, too', async () => {
    put('big', 'x'.repeat(3 * 1024 * 1024));
    await roundTrip([remove('big')]);
    await roundTrip([write('big', 'small')]);
    await roundTrip([copy('big', 'big2')]);
  });
});

describe('mutate revert', () => {
  it('refuses to destroy later work', async () => {
    const { changes } = await run([
      write('a', 'two'),
      write('new', 'n'),
      write('p/q', 'q', { createDirs: true }),
    ]);
    const revert = changes.toReversed().map((change): Edit => ({ op: 'revert', change }));
    put('a', 'mine');
    assert.equal(await refused(revert), 'undo.conflict');
    put('a', 'two');
    fs.chmodSync(path.join(ws, 'new'), 0o600);
    assert.equal(await refused(revert), 'undo.conflict');
    fs.chmodSync(path.join(ws, 'new'), 0o644);
    put('p/other', 'mine');
    assert.equal(await refused(revert), 'undo.conflict');
    fs.rmSync(path.join(ws, 'p/other'));
    await run(revert);
    assert.deepEqual(Object.keys(tree()).sort(), ['a', 'd', 'd/e', 'd/e/y', 'd/link', 'd/x']);
  });

  it('refuses to move a tree back that was changed since', async () => {
    const { changes } = await run([move('d', 'moved')]);
    const revert = changes.map((change): Edit => ({ op: 'revert', change }));
    put('moved/e/y', 'other');
    assert.equal(await refused(revert), 'undo.conflict');
  });

  it('refuses to move back to where something is', async () => {
    const { changes } = await run([move('a', 'b')]);
    put('a', 'mine');
    assert.equal(await refused(changes.map((change) => ({ op: 'revert', change }))), 'undo.conflict');
  });

  it('completes what was half done', async () => {
    const scope = createTestScope(ws, objects);
    const planned = await createFsHandle(scope).preview([write('a', 'two'), write('new', 'n')]);
    for (const change of planned) if (change.before?.type === 'file') await objects.put(bytes('one'));
    put('new', 'n');
    const { changes } = await run(
      planned.toReversed().map((change) => ({ op: 'revert', change: { ...change, stored: true } })),
    );
    assert.deepEqual(
      changes.map((change) => change.path),
      ['new'],
    );
    assert.equal(tree().new, undefined);
  });
});

describe('mutate', () => {
  it('shows nothing before the intent is durable, and stages before it', async () => {
    const was = tree();
    let atIntent: Record<string, string> = {};
    await run(
      [write('a', 'two'), write('p/q', 'n', { createDirs: true }), remove('d', { recursive: true })],
      {
        intend: async () => {
          atIntent = tree();
        },
      },
    );
    const staged = Object.entries(atIntent).filter(([name]) => isTempName(path.basename(name)));
    assert.deepEqual(staged.map(([, entry]) => entry).sort(), ['644 n', '644 two']);
    for (const [name] of staged) delete atIntent[name];
    assert.deepEqual(atIntent, was);
  });

  it('changes nothing when the intent cannot be recorded', async () => {
    const intend = () => Promise.reject(Object.assign(new Error('no'), { reason: 'store.unwritable' }));
    assert.equal(
      await refused([write('a', 'two'), remove('d', { recursive: true })], { intend }),
      'store.unwritable',
    );
  });

  it('restores all when a later step fails', async () => {
    const edits = [
      write('a', 'two'),
      write('p/q', 'n', { createDirs: true }),
      remove('d/e', { recursive: true }),
      move('d/x', 'a2'),
      copy('a', 'c'),
      write('d/last', 'z'),
    ];
    // Somebody else is faster with the last one.
    const intend = async () => put('d/last', 'mine');
    const was = { ...tree(), 'd/last': '644 mine' };
    const ino = fs.statSync(path.join(ws, 'a')).ino;
    await assert.rejects(run(edits, { intend }), { reason: 'file.conflict' });
    assert.deepEqual(tree(), was);
    assert.equal(fs.statSync(path.join(ws, 'a')).ino, ino, 'the very same file came back');
  });

  it('notices every kind of change between plan and step', async () => {
    const cases: [Edit, () => void][] = [
      [write('a', 'two'), () => put('a', 'mine')],
      [remove('a'), () => put('a', 'mine')],
      [remove('d', { recursive: true }), () => put('d/e/new', 'mine')],
      [move('a', 'b'), () => put('b', 'mine')],
      [write('new', 'n', { mustCreate: true }), () => put('new', 'mine')],
    ];
    for (const [edit, change] of cases) {
      const reason = await run([edit], { intend: async () => change() }).then(
        () => 'none',
        (thrown) => thrown.reason,
      );
      assert.equal(reason, 'file.conflict', JSON.stringify(edit));
      for (const name of ['b', 'new', 'd/e/new']) fs.rmSync(path.join(ws, name), { force: true });
      put('a', 'one');
      assert.deepEqual(Object.keys(tree()).sort(), ['a', 'd', 'd/e', 'd/e/y', 'd/link', 'd/x']);
    }
  });

  it('notices a folder that was swapped for a link', async () => {
    const intend = async () => {
      fs.renameSync(path.join(ws, 'd'), path.join(ws, 'd.old'));
      fs.symlinkSync(path.join(base, 'outside'), path.join(ws, 'd'));
    };
    await assert.rejects(run([write('d/o', 'x')], { intend }), { reason: 'path.raced' });
    assert.equal(fs.readFileSync(path.join(base, 'outside/o'), 'utf8'), 'OUTSIDE');
    assert.deepEqual(fs.readdirSync(path.join(base, 'outside')), ['o']);
  });

  it('stops when the call is cancelled, leaving nothing', async () => {
    const controller = new AbortController();
    const reason = Object.assign(new Error('cancelled'), { reason: 'time.cancelled' });
    const intend = async () => controller.abort(reason);
    const edits = [write('a', 'two'), write('b', 'n')];
    assert.equal(await refused(edits, { signal: controller.signal, intend }), 'time.cancelled');
  });

  it('refuses special files and leaves them alone', async () => {
    const { execFileSync } = await import('node:child_process');
    execFileSync('mkfifo', [path.join(ws, 'd/fifo')]);
    assert.equal(await refused([write('d/fifo', 'x')]), 'path.not_regular');
    assert.equal(await refused([remove('d/fifo')]), 'path.not_regular');
    assert.equal(await refused([remove('d', { recursive: true })]), 'path.not_regular');
    assert.equal(await refused([copy('d', 'c')]), 'path.not_regular');
    await roundTrip([move('d', 'moved')]);
  });

  it('leaves no descriptor open', async () => {
    const open = () => fs.readdirSync('/proc/self/fd').length;
    if (process.platform !== 'linux') return;
    await run([write('a', 'x')]);
    const before = open();
    await roundTrip([
      write('p/q', 'n', { createDirs: true }),
      remove('d', { recursive: true }),
      move('a', 'b'),
    ]);
    await refused([write('none/x', 'n'), write('a', 'x', { mustCreate: true })]);
    assert.equal(open(), before);
  });
});
