// Owns: the ordinary work that must go on in a sandbox, as data: what it needs, what it finds, what is run, what comes of it.
// Refuses: to run it; `ordinary-work-run.ts` does.
import type { PackageRegistry } from './registry.ts';

export interface Work {
  readonly name: string;
  /** Debian packages, each with a command that succeeds where it is there. */
  readonly needs: Readonly<Record<string, readonly string[]>>;
  /** Patterns of `shell_allow`. */
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
    allow: ['^npm ci(\\s|$)', '^node app\\.js$'],
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
    allow: ['^cargo build(\\s|$)', '^target/debug/hello$'],
    files: () => ({
      'Cargo.toml': '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
      'src/main.rs': 'mod sum;\nfn main() { println!("the sum is {}", sum::of(&[1, 2, 3])); }\n',
      'src/sum.rs': 'pub fn of(all: &[u32]) -> u32 { all.iter().sum() }\n',
    }),
    steps: [{ cmd: 'cargo build' }, { cmd: 'target/debug/hello', prints: /^the sum is 6$/m }],
    products: ['target/debug/hello', 'Cargo.lock'],
  },
  {
    name: 'make -j2',
    needs: {
      make: ['make', '--version'],
      gcc: ['gcc', '--version'],
      'libc6-dev': ['test', '-e', '/usr/include/stdio.h'],
    },
    allow: ['^make -j2$', '^\\./app$'],
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
    allow: ['^git (log|status|diff)(\\s|$)'],
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
    allow: ['^python3 -m venv(\\s|$)', '^env/bin/(python|pip)(\\s|$)'],
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
    name: 'a test runner that opens ports',
    needs: { nodejs: ['node', '--version'] },
    allow: ['^node --test(\\s|$)'],
    files: () => ({ 'sums.test.mjs': SUMS }),
    steps: [{ cmd: 'node --test --test-reporter=tap', prints: /^# pass 3$/m }],
    products: [],
  },
];
