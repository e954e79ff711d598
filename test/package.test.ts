// Owns: the proof that whoever installs the package can follow every link of its pages.
// Refuses: to build: what is in dist/ is not linked to.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, it } from 'node:test';

const ROOT = join(import.meta.dirname, '..');

describe('the package', () => {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ files }] = JSON.parse(packed) as [{ files: { path: string }[] }];
  const paths = files.map(({ path }) => path);
  const has = (path: string) => paths.some((one) => one === path || one.startsWith(`${path}/`));

  it('holds what its pages link to', () => {
    const dead = paths
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) =>
        [
          ...readFileSync(join(ROOT, path), 'utf8')
            .replaceAll(/^```[\s\S]*?^```/gm, '')
            .matchAll(/\]\(([^)\s]+)\)/g),
        ]
          .map(([, link = '']) => link.replace(/#.*$/, ''))
          .filter((link) => link !== '' && !/^[a-z]+:/.test(link))
          .map((link) => posix.normalize(posix.join(posix.dirname(path), link)).replace(/\/$/, ''))
          .filter((target) => target !== '.' && !has(target))
          .map((target) => `${path} → ${target}`),
      );
    assert.deepEqual(dead, []);
  });

  it('says how it is installed', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    assert.ok(readme.includes(`npm install --global ./haft-${version}.tgz`));
    assert.ok(readme.includes(`npm install ./haft-${version}.tgz`));
  });
});
