// Owns: the ordinary work that must go on in a sandbox, as data: what it needs, what it finds, what is run, what comes of it.
// Refuses: to run it; `ordinary-work-run.ts` does.
import type { PackageRegistry } from './registry.ts';

export interface Work {
  readonly name: string;
  /** Debian packages, each with a command that succeeds where it is there. */
  readonly needs: Readonly<Record<string, readonly string[]>>;
  /** Patterns of `shell_allow` beside those that `haft init` writes. */
  readonly allow: readonly string[];
  /** Below the work's own folder. */
  files(registry: PackageRegistry): Readonly<Record<string, string>>;
  readonly steps: readonly WorkStep[];
  /** What must be there afterwards, below its folder. */
  readonly products: readonly string[];
}

export interface WorkStep {
  readonly cmd: string;
  readonly network?: boolean;
  /** What it prints. */
  readonly prints?: RegExp;
}

const SUMS = `import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createServer } from 'node:http';

for (const host of ['127.0.0.1', 'localhost', '::1']) {
  test('serves ' + host, async () => {
    const servers = await Promise.all([1, 2].map((n) => new Promise((resolve) => {
      const server = createServer((_, response) => response.end('server ' + n)).listen(0, host, () => resolve(server));
    })));
    for (const [at, server] of servers.entries()) {
      const { port } = server.address();
      const response = await fetch('http://' + (host === '::1' ? '[::1]' : host) + ':' + port + '/');
      assert.equal(await response.text(), 'server ' + (at + 1));
      server.closeAllConnections();
      server.close();
    }
  });
}
`;

/** A wheel is a zip; pip needs neither network nor a build for it. */
const WHEEL = `import zipfile
with zipfile.ZipFile('right-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('right.py', 'def main(): print("right of here")\\n')
    wheel.writestr('right-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: right\\nVersion: 1.0\\n')
    wheel.writestr('right-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('right-1.0.dist-info/entry_points.txt', '[console_scripts]\\nright = right:main\\n')
    wheel.writestr('right-1.0.dist-info/RECORD', '')
`;

/** As a test suite would: a repository in the folder for temporary files, and one below the workspace. */
const SCRATCH = `const { execFileSync } = require('node:child_process');
const { mkdirSync, mkdtempSync, writeFileSync } = require('node:fs');
const own = mkdtempSync(require('node:os').tmpdir() + '/scratch-');
mkdirSync('new/folder', { recursive: true });
for (const cwd of [own, 'new/folder']) {
  const git = (...args) => execFileSync('git', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Ann');
  git('config', 'user.email', 'ann@example.org');
  for (const name of ['a.txt', 'b.txt']) {
    writeFileSync(cwd + '/' + name, name);
    git('add', name);
    git('commit', '-q', '-m', name);
  }
  console.log(git('rev-list', '--count', 'HEAD').trim() + ' commits');
}
`;

const lockOf = ({ tarball, integrity }: PackageRegistry) => ({
  name: 'app',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': { name: 'app', version: '1.0.0', dependencies: { left: '^1.0.0' } },
    'node_modules/left': { version: '1.0.0', resolved: tarball, integrity },
  },
});

export const WORKS: readonly Work[] = [
  {
    name: 'npm ci',
    needs: { 'nodejs and npm': ['npm', '--version'] },
    allow: [],
    files: (registry) => ({
      '.npmrc': `registry=${registry.url}\n`,
      'package.json': '{"name":"app","version":"1.0.0","dependencies":{"left":"^1.0.0"}}\n',
      'package-lock.json': `${JSON.stringify(lockOf(registry))}\n`,
      'app.js': "console.log(require('left')('here'));\n",
    }),
    steps: [
      { cmd: 'npm ci', network: true, prints: /added 1 package/ },
      { cmd: 'node app.js', prints: /^left of here$/m },
    ],
    products: ['node_modules/left/index.js', 'node_modules/.package-lock.json'],
  },
  {
    name: 'cargo build',
    needs: { cargo: ['cargo', '--version'], gcc: ['cc', '--version'] },
    allow: ['^target/debug/hello$'],
    files: () => ({
      'Cargo.toml': '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
      'src/main.rs': 'mod sum;\nfn main() { println!("the sum is {}", sum::of(&[1, 2, 3])); }\n',
      'src/sum.rs': 'pub fn of(all: &[u32]) -> u32 { all.iter().sum() }\n',
    }),
    // The second build finds target/ there, which tools are asked about.
    steps: [
      { cmd: 'cargo build' },
      { cmd: 'cargo build --release' },
      { cmd: 'target/debug/hello', prints: /^the sum is 6$/m },
    ],
    products: ['target/debug/hello', 'target/release/hello', 'Cargo.lock'],
  },
  {
    name: 'make -j2',
    needs: {
      make: ['make', '--version'],
      gcc: ['gcc', '--version'],
      'libc6-dev': ['test', '-e', '/usr/include/stdio.h'],
    },
    allow: ['^\\./app$'],
    files: () => ({
      Makefile: 'app: main.o sum.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -c -o $@ $<\n',
      'main.c':
        '#include <stdio.h>\nint sum(int, int);\nint main(void) { printf("the sum is %d\\n", sum(3, 4)); return 0; }\n',
      'sum.c': 'int sum(int a, int b) { return a + b; }\n',
    }),
    steps: [{ cmd: 'make -j2' }, { cmd: './app', prints: /^the sum is 7$/m }],
    products: ['app', 'main.o', 'sum.o'],
  },
  {
    name: 'git log',
    needs: { git: ['git', '--version'] },
    allow: [],
    files: () => ({ 'tracked.txt': 'changed\n' }),
    steps: [
      { cmd: 'git log --stat', prints: /Author: Ann <ann@example\.org>[\s\S]*first commit/ },
      { cmd: 'git status --short', prints: /tracked\.txt/ },
    ],
    products: [],
  },
  {
    name: 'python3 -m venv',
    needs: { 'python3-venv': ['python3', '-c', 'import ensurepip, venv'] },
    allow: [],
    files: () => ({
      'where.py': 'import sys, json\nprint(sys.prefix != sys.base_prefix, json.dumps([1]))\n',
    }),
    steps: [
      { cmd: 'python3 -m venv env' },
      { cmd: 'env/bin/python where.py', prints: /^True \[1\]$/m },
      { cmd: 'env/bin/pip --version', prints: /env\/lib/ },
    ],
    products: ['env/pyvenv.cfg', 'env/bin/python', 'env/bin/pip'],
  },
  {
    name: 'npm install',
    needs: { 'nodejs and npm': ['npm', '--version'] },
    allow: [],
    files: () => ({
      'package.json': '{"name":"app","version":"1.0.0"}\n',
      'app.js': "console.log(require('left'));\n",
      'left/package.json':
        '{"name":"left","version":"1.0.0","bin":"cli.js","scripts":{"postinstall":"node cli.js > made.pem"}}\n',
      'left/index.js': "module.exports = 'left of here';\n",
      'left/cli.js': "#!/usr/bin/env node\nconsole.log('run from .bin');\n",
      // Packages ship what would be asked about, or denied, elsewhere.
      'left/.vscode/settings.json': '{}\n',
      'left/.github/workflows/ci.yml': 'on: push\n',
    }),
    steps: [
      { cmd: 'npm install --offline --no-audit --no-fund --install-links ./left', prints: /added 1 package/ },
      {
        cmd: 'npm install --offline --no-audit --no-fund --install-links ./left',
        prints: /up to date|changed/,
      },
      { cmd: 'node app.js && npx --offline left', prints: /^left of here\nrun from \.bin$/m },
      { cmd: 'cat node_modules/left/made.pem', prints: /^run from \.bin$/m },
    ],
    products: [
      'node_modules/.bin/left',
      'node_modules/left/made.pem',
      'node_modules/left/.vscode/settings.json',
      'node_modules/left/.github/workflows/ci.yml',
    ],
  },
  {
    name: 'pip install into a venv',
    needs: { 'python3-venv': ['python3', '-c', 'import ensurepip, venv'] },
    allow: [],
    files: () => ({ 'wheel.py': WHEEL }),
    steps: [
      { cmd: 'python3 wheel.py && python3 -m venv .venv' },
      {
        cmd: '.venv/bin/pip install --no-index ./right-1.0-py3-none-any.whl',
        prints: /Successfully installed/,
      },
      {
        cmd: '.venv/bin/pip install --no-index --force-reinstall ./right-1.0-py3-none-any.whl',
        prints: /Successfully installed/,
      },
      { cmd: '.venv/bin/right', prints: /^right of here$/m },
      {
        cmd: '.venv/bin/python -c "import pip._vendor.certifi as c; print(len(open(c.where()).read()))"',
        prints: /^\d{5,}$/m,
      },
    ],
    products: ['.venv/bin/right'],
  },
  {
    name: 'git commit in repositories of its own',
    needs: { git: ['git', '--version'], nodejs: ['node', '--version'] },
    allow: [],
    files: () => ({ 'scratch.cjs': SCRATCH }),
    steps: [{ cmd: 'node scratch.cjs', prints: /^2 commits\n2 commits$/m }],
    products: ['new/folder/a.txt'],
  },
  {
    name: 'a test runner that opens ports',
    needs: { nodejs: ['node', '--version'] },
    allow: [],
    files: () => ({ 'sums.test.mjs': SUMS }),
    steps: [{ cmd: 'node --test --test-reporter=tap', prints: /^# pass 3$/m }],
    products: [],
  },
];
