import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createCodeCopies } from './code-copies.ts';
import { isFault, type KnownFile, readTree } from './read-tree.ts';

describe('code copies', () => {
  let base: string;
  let pack: string;
  const put = (path: string, content: string) => {
    mkdirSync(dirname(join(pack, path)), { recursive: true });
    writeFileSync(join(pack, path), content);
  };
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'haft-copies-')));
    pack = join(base, 'pack');
    mkdirSync(join(base, '.haft'));
    put('run.sh', 'echo');
    chmodSync(join(pack, 'run.sh'), 0o755);
    put('lib/helper.py', 'x = 1');
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));
  const copies = () => createCodeCopies(join(base, '.haft'));

  it('holds what was hashed, with what can be run and links within, and nothing that no program runs', () => {
    put('a.tool.yaml', 'id: a.b');
    put('__pycache__/helper.pyc', 'x');
    put('.git/HEAD', 'x');
    symlinkSync('lib/helper.py', join(pack, 'link.py'));
    symlinkSync('/etc/passwd', join(pack, 'out'));
    const all = copies();
    const tree = all.take({ at: pack }, 'pack');
    assert.deepEqual(
      tree.files.map(({ path }) => path),
      ['lib/helper.py', 'link.py', 'out', 'run.sh'],
    );
    assert.deepEqual(tree.outward, ['out']);
    const copy = all.use({ at: pack }, tree.digest);
    assert.equal(readFileSync(join(copy, 'lib/helper.py'), 'utf8'), 'x = 1');
    assert.equal(readlinkSync(join(copy, 'link.py')), 'lib/helper.py');
    assert.equal(statSync(join(copy, 'run.sh')).mode & 0o777, 0o555);
    assert.equal(statSync(join(copy, 'lib/helper.py')).mode & 0o777, 0o444);
    assert.ok(!existsSync(join(copy, '.git')) && !existsSync(join(copy, 'a.tool.yaml')));
  });

  it('has another digest for another content, name, mode or link, and the same wherever it lies', () => {
    const seen = new Set([copies().take({ at: pack }, 'p').digest]);
    const another = (change: () => void) => {
      change();
      const { digest } = copies().look({ at: pack }, 'p');
      assert.ok(!seen.has(digest));
      seen.add(digest);
    };
    another(() => put('lib/helper.py', 'x = 2'));
    another(() => chmodSync(join(pack, 'lib/helper.py'), 0o755));
    another(() => put('lib/more.py', ''));
    another(() => symlinkSync('more.py', join(pack, 'lib/again.py')));
    rmSync(join(pack, 'lib'), { recursive: true });
    another(() => put('lib2/helper.py', 'x = 1'));
  });

  it('is made anew where it is gone or damaged and the folder is the same; else it is refused', () => {
    const all = copies();
    const { digest } = all.take({ at: pack }, 'p');
    const spoil = (path: string, content: string) => {
      rmSync(path, { force: true });
      writeFileSync(path, content);
    };
    const spoils: ((copy: string) => void)[] = [
      (copy) => rmSync(copy, { recursive: true }),
      (copy) => spoil(join(copy, 'lib/helper.py'), 'x = 9'),
      (copy) => spoil(join(copy, 'lib/json.py'), ''),
      (copy) => rmSync(join(copy, 'run.sh')),
      (copy) => chmodSync(join(copy, 'run.sh'), 0o444),
    ];
    for (const damage of spoils) {
      damage(all.use({ at: pack }, digest));
      assert.equal(readFileSync(join(all.use({ at: pack }, digest), 'lib/helper.py'), 'utf8'), 'x = 1');
      const tree = readTree(all.use({ at: pack }, digest), { bounds: { files: 10, bytes: 1000 } });
      assert.ok(!isFault(tree) && tree.digest === digest);
    }
    spoils[1]?.(all.use({ at: pack }, digest));
    put('lib/helper.py', 'x = 2');
    assert.throws(() => all.use({ at: pack }, digest), { reason: 'tool.changed' });
  });

  it('refuses what is neither a file, a folder nor a link, with its name', () => {
    assert.equal(spawnSync('mkfifo', [join(pack, 'lib/pipe')]).status, 0);
    assert.throws(() => copies().take({ at: pack }, 'p'), {
      reason: 'pack.invalid',
      message: /"lib\/pipe" is neither/,
    });
  });

  it('refuses the workspace itself, and what holds it', () => {
    assert.throws(() => copies().take({ at: base }, 'p'), { message: /its folder is the workspace/ });
    assert.throws(() => copies().take({ at: dirname(base) }, 'p'), {
      message: /its folder is the workspace/,
    });
  });
});

describe('readTree', () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'haft-tree-'));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));
  const bounds = { files: 3, bytes: 100 };

  it('says what is too much, and of which file', () => {
    for (const name of ['a', 'b', 'c']) writeFileSync(join(base, name), 'x');
    assert.ok(!isFault(readTree(base, { bounds })));
    writeFileSync(join(base, 'd'), 'x');
    assert.equal((readTree(base, { bounds }) as { fault: string }).fault, 'files');
    rmSync(join(base, 'd'));
    writeFileSync(join(base, 'c'), 'x'.repeat(100));
    assert.deepEqual(readTree(base, { bounds }), { fault: 'bytes', path: 'c' });
  });

  it('believes a stamp only when it is old enough, and another content never', () => {
    const file = join(base, 'a');
    const memory = new Map<string, KnownFile>();
    writeFileSync(file, 'one');
    const first = readTree(base, { bounds, memory });
    assert.equal(memory.size, 0, 'it may change again within the same tick of the clock');
    const { mtimeMs, ino, dev, size } = statSync(file);
    writeFileSync(file, 'two');
    utimesSync(file, mtimeMs / 1000, mtimeMs / 1000);
    const { ctimeMs } = statSync(file);
    memory.set(file, [size, mtimeMs, ctimeMs - 1, ino, dev, 'stale']);
    const second = readTree(base, { bounds, memory });
    assert.ok(!isFault(first) && !isFault(second) && first.digest !== second.digest);
  });

  it('sees a link that leads out through another link', () => {
    mkdirSync(join(base, 'p/q'), { recursive: true });
    symlinkSync('../..', join(base, 'p/q/up'));
    symlinkSync('q/up/../..', join(base, 'p/x'));
    const tree = readTree(base, { bounds });
    assert.ok(!isFault(tree));
    assert.deepEqual(tree.outward, ['p/x']);
  });
});
