// Owns: `haft toolpack new` and `check` as a person meets them, and that every toolpack of examples/ passes its own check.
// Refuses: engines.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { sha256Hex } from '../../src/base/digest.ts';
import { trustForTests, writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { NODE_ARGS } from './support/haft.ts';

const ROOT = join(import.meta.dirname, '../..');

const run = (args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { status, stdout, stderr, said: stdout + stderr };
};
const haft = (args: readonly string[], cwd: string, env?: Readonly<Record<string, string>>) =>
  run([...NODE_ARGS, ...args], cwd, env);

function inFolder(use: (folder: string) => void): void {
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-new-')));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const pinned = (name: string) => ({ name, image: `sha256:${sha256Hex(name)}` });
const IMAGES = JSON.stringify([pinned('haft/busybox:1'), pinned('haft/coreutils:1')]);
const reasonOf = (stdout: string) => JSON.parse(stdout).errors[0]?.reason;

describe('haft toolpack check', () => {
  for (const folder of globSync('examples/toolpacks/*', { cwd: ROOT }).sort()) {
    it(`finds nothing wrong with ${basename(folder)}`, () =>
      inFolder((place) => {
        writeTrusted(join(place, 'haft.yaml'), `version: 1\nruns: { images: ${IMAGES} }\n`);
        const { status, stdout, said } = haft(['toolpack', 'check', join(ROOT, folder), '--json'], place);
        assert.equal(status, 0, said);
        assert.equal(JSON.parse(stdout).ok, true);
      }));
  }

  const TEXT_STATS = join(ROOT, 'examples/toolpacks/text_stats');
  const checkWith = (policy: string, more: readonly string[] = []) => {
    let result: ReturnType<typeof haft> | undefined;
    inFolder((place) => {
      if (policy !== '') writeTrusted(join(place, 'haft.yaml'), `version: 1\n${policy}\n`);
      result = haft(['toolpack', 'check', TEXT_STATS, ...more], place);
    });
    return result!;
  };

  it('fails where the first call would: an image that nobody can pin, with the lines that would allow it', () => {
    const { status, said } = checkWith('');
    assert.equal(status, 2, said);
    assert.match(said, /FAILED its images .*\n +Cannot pin the image "haft\/busybox:1"/);
    assert.match(
      said,
      /add to haft\.yaml:\n +runs:\n +backends:\n +- docker\n +images:\n +- 'haft\/busybox:1'\n/,
    );
    assert.doesNotMatch(said, /fine/);
  });

  it('fails where policy sends runs to an engine, and does not let it have the image', () => {
    const images = JSON.stringify([
      { ...pinned('haft/busybox:1'), tools: ['other'] },
      pinned('haft/coreutils:1'),
    ]);
    const { said, status } = checkWith(`runs: { backend: docker, images: ${images} }`);
    assert.equal(status, 2, said);
    assert.match(said, /FAILED its images/);
  });

  it('of a backend that a caller may choose is as strict as of the usual one', () => {
    const image = JSON.stringify([pinned('haft/coreutils:1')]);
    inFolder((place) => {
      const text = `version: 1\nruns: { backends: [docker, slurm], images: ${image} }\n`;
      writeTrusted(join(place, 'haft.yaml'), text);
      const { status, said } = haft(
        ['toolpack', 'check', join(ROOT, 'examples/toolpacks/table_sort')],
        place,
      );
      assert.equal(status, 2, said);
      assert.match(said, /on slurm: no entry of runs\.slurm\.images says which folder/);
    });
  });

  it('leaves images alone where it is asked to', () => {
    const { status, said } = checkWith('', ['--no-images']);
    assert.equal(status, 0, said);
    assert.match(said, /text_stats: fine/);
  });
});

describe('haft toolpack new', () => {
  it('writes the example word_count for that name', () =>
    inFolder((place) => {
      const made = haft(['toolpack', 'new', 'word_count', '--json'], place);
      assert.equal(made.status, 0, made.said);
      for (const file of ['toolpack.ts', 'calls/first.json']) {
        const example = join(ROOT, 'examples/toolpacks/word_count', file);
        assert.equal(
          readFileSync(join(place, 'word_count', file), 'utf8'),
          readFileSync(example, 'utf8'),
          file,
        );
      }
    }));

  it('writes a toolpack that passes its check and its own test, and never over anything', () =>
    inFolder((place) => {
      const made = haft(['toolpack', 'new', 'my_tool', '--json'], place);
      assert.equal(made.status, 0, made.said);
      for (const file of JSON.parse(made.stdout).files)
        assert.ok(existsSync(join(place, 'my_tool', file)), file);
      const checked = haft(['toolpack', 'check', 'my_tool'], place);
      assert.equal(checked.status, 0, checked.said);
      assert.match(checked.stdout, /my_tool: fine/);
      const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
      const tested = spawnSync(process.execPath, ['--test'], {
        cwd: join(place, 'my_tool'),
        env,
        encoding: 'utf8',
      });
      assert.equal(tested.status, 0, tested.stdout + tested.stderr);
      assert.match(tested.stdout, /pass 7\n/);
      assert.equal(haft(['toolpack', 'new', 'my_tool'], place).status, 5);
      assert.equal(haft(['toolpack', 'new', 'My-Tool'], place).status, 2);

      const module = join(place, 'my_tool/toolpack.ts');
      writeFileSync(module, readFileSync(module, 'utf8').replace("abiVersion: 'v1'", "abiVersion: 'v9'"));
      const broken = haft(['toolpack', 'check', 'my_tool'], place);
      assert.equal(broken.status, 2);
      assert.match(broken.stderr, /toolpack\.ts:\d+:\d+: error abi\.unknown/);
    }));

  it('run from the sources of a clone, writes a test that runs as well', () =>
    inFolder((place) => {
      const made = run([join(ROOT, 'src/bin/haft.ts'), 'toolpack', 'new', 'my_tool'], place);
      assert.equal(made.status, 0, made.said);
      const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
      const cwd = join(place, 'my_tool');
      const tested = spawnSync(process.execPath, ['--test'], { cwd, env, encoding: 'utf8' });
      assert.equal(tested.status, 0, tested.stdout + tested.stderr);
      assert.match(tested.stdout, /pass 7\n/);
    }));

  it('refuses the name of a builtin, of a pack and of any installed tool, and writes nothing', () =>
    inFolder((place) => {
      for (const name of ['file_read', 'shell_exec', 'undo', 'find_tool']) {
        const { status, stderr } = haft(['toolpack', 'new', name], place);
        assert.deepEqual([status, existsSync(join(place, name))], [2, false], stderr);
        assert.match(stderr, /a builtin tool has that name/);
      }
      assert.equal(haft(['toolpack', 'new', 'first'], place).status, 0);
      const module = join(place, 'first/toolpack.ts');
      writeFileSync(module, readFileSync(module, 'utf8').replace("toolName: 'first'", "toolName: 'second'"));
      assert.match(haft(['toolpack', 'new', 'second'], place).stderr, /an installed tool has that name/);
      mkdirSync(join(place, 'below'));
      assert.match(
        haft(['toolpack', 'new', 'first'], join(place, 'below')).stderr,
        /a pack of haft.yaml has/,
      );
      assert.deepEqual(globSync('**/toolpack.ts', { cwd: place }), ['first/toolpack.ts']);
    }));

  it('adds to haft.yaml what it names, and changes nothing else of it', () =>
    inFolder((place) => {
      const text = `# mine\nversion: 1\npacks: [] # those of us\nshell_allow:\n  - '^ls(\\s|$)'   # look\n`;
      writeTrusted(join(place, 'haft.yaml'), text);
      mkdirSync(join(place, 'tools'));
      assert.equal(haft(['toolpack', 'new', 'my_tool'], join(place, 'tools')).status, 0);
      const now = readFileSync(join(place, 'haft.yaml'), 'utf8');
      assert.match(now, /^# mine\nversion: 1\npacks: \[ *tools\/my_tool *\] # those of us\n/);
      assert.match(now, /'\^ls\(\\s\|\$\)' +# look\n$/);
      const called = haft(['call', 'my_tool', '{"text":"a b"}'], place);
      assert.equal(called.status, 0, called.said);
    }));
});

describe('haft toolpack new, and trust', () => {
  const POLICY = `version: 1\nshell_allow: ['^npm']\n`;
  const refused = (place: string, reason: string, more: readonly string[] = [], env = {}) => {
    const before = existsSync(join(place, 'haft.yaml'))
      ? readFileSync(join(place, 'haft.yaml'), 'utf8')
      : undefined;
    const { stdout, said } = haft(['toolpack', 'new', 'my_tool', '--json', ...more], place, env);
    assert.equal(reasonOf(stdout), reason, said);
    assert.equal(existsSync(join(place, 'my_tool')), false);
    if (before !== undefined) assert.equal(readFileSync(join(place, 'haft.yaml'), 'utf8'), before);
  };

  it('refuses a policy that nobody trusted, and does not trust it on the way', () =>
    inFolder((place) => {
      writeFileSync(join(place, 'haft.yaml'), POLICY);
      refused(place, 'policy.untrusted');
      assert.equal(haft(['call', 'fs_list'], place).status, 3);
    }));

  it('refuses one that grants more than what was trusted', () =>
    inFolder((place) => {
      writeTrusted(join(place, 'haft.yaml'), POLICY);
      writeFileSync(join(place, 'haft.yaml'), `${POLICY}network: { allowed_domains: [example.org] }\n`);
      refused(place, 'policy.untrusted');
    }));

  it('refuses one that is trusted for this run only', () =>
    inFolder((place) => {
      writeFileSync(join(place, 'haft.yaml'), POLICY);
      refused(place, 'usage', [], { HAFT_TRUST: sha256Hex(POLICY) });
      assert.equal(haft(['call', 'fs_list'], place).status, 3);
    }));

  it('refuses while frozen, and below another workspace', () =>
    inFolder((place) => {
      refused(place, 'lockfile.drift', ['--frozen']);
      writeTrusted(join(place, 'haft.yaml'), POLICY);
      mkdirSync(join(place, 'inner'));
      writeTrusted(join(place, 'inner/haft.yaml'), POLICY);
      refused(join(place, 'inner'), 'usage');
    }));

  it('refuses a haft.yaml that is a link to another place', () =>
    inFolder((place) =>
      inFolder((other) => {
        writeFileSync(join(other, 'shared.yaml'), POLICY);
        symlinkSync(join(other, 'shared.yaml'), join(place, 'haft.yaml'));
        trustForTests(place);
        refused(place, 'usage');
        assert.equal(readFileSync(join(other, 'shared.yaml'), 'utf8'), POLICY);
      }),
    ));

  it('leaves nothing but the pack and its line', () =>
    inFolder((place) => {
      writeTrusted(join(place, 'haft.yaml'), POLICY);
      chmodSync(join(place, 'haft.yaml'), 0o640);
      assert.equal(haft(['toolpack', 'new', 'my_tool'], place).status, 0);
      assert.deepEqual(readdirSync(place).sort(), ['.haft', 'haft.yaml', 'my_tool']);
      assert.equal(statSync(join(place, 'haft.yaml')).mode & 0o777, 0o640);
      assert.deepEqual(
        readdirSync(join(place, '.haft')).filter((name) => name.startsWith('haft.yaml')),
        [],
      );
      const diff = JSON.parse(haft(['policy', 'diff', '--json'], place).stdout);
      assert.equal(diff.trusted, true);
    }));

  it('pins the new tool where there is a haft.lock, which stays trusted', () =>
    inFolder((place) => {
      assert.equal(haft(['toolpack', 'new', 'first'], place).status, 0);
      assert.equal(haft(['tools', 'lock'], place).status, 0);
      assert.equal(haft(['toolpack', 'new', 'second'], place).status, 0);
      for (const name of ['first', 'second']) {
        const called = haft(['call', name, '{"text":"a b"}', '--frozen'], place);
        assert.equal(called.status, 0, called.said);
      }
    }));
});
