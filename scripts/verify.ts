// Owns: `npm run verify`: installs what the tests need on a plain Debian machine, then runs every test and skips none.
// Refuses: to pass with a part left out.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DOCKER_PACKAGES } from './engines/docker.ts';
import { PODMAN_PACKAGES } from './engines/podman.ts';
import { SLURM_PACKAGES } from './engines/slurm.ts';

const root = join(import.meta.dirname, '..');

/** Debian packages, each with a file that tells whether it is there. */
const PACKAGES: Readonly<Record<string, string>> = {
  git: '/usr/bin/git',
  strace: '/usr/bin/strace',
  ripgrep: '/usr/bin/rg',
  bubblewrap: '/usr/bin/bwrap',
  iproute2: '/usr/sbin/ip',
  cargo: '/usr/bin/cargo',
  gcc: '/usr/bin/gcc',
  'libc6-dev': '/usr/include/stdio.h',
  make: '/usr/bin/make',
  'python3-venv': '/usr/share/doc/python3-venv',
  ...DOCKER_PACKAGES,
  ...PODMAN_PACKAGES,
  python3: '/usr/bin/python3',
  'php-cli': '/usr/bin/php',
  ...SLURM_PACKAGES,
};

const STEPS: readonly {
  readonly title: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}[] = [
  {
    title: 'types, lint, unused code, architecture, generated pages',
    command: ['npm', 'run', '--silent', 'check'],
  },
  { title: 'build', command: ['npm', 'run', '--silent', 'build'] },
  { title: 'tests', command: ['npm', 'test', '--silent', '--', '--times'], env: { CI: 'true' } },
];

installPackages();
for (const { title, command, env } of STEPS) {
  const started = performance.now();
  console.log(`\n== ${title}`);
  run(command, env);
  console.log(`== ${title}: ${Math.round((performance.now() - started) / 1000)} s`);
}

function installPackages(): void {
  const missing = Object.keys(PACKAGES).filter((name) => !existsSync(PACKAGES[name]!));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    console.error(`npm run verify needs ${missing.join(', ')}: install them, or run it as root on Debian`);
    process.exit(1);
  }
  console.log(`== installing ${missing.join(', ')}`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  run(['apt-get', 'update', '-qq'], env);
  run(['apt-get', 'install', '-y', '-qq', ...missing], env);
}

function run([command = '', ...args]: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (status === 0) return;
  console.error(`== failed: ${[command, ...args].join(' ')}${error ? ` (${error.message})` : ''}`);
  process.exit(status ?? 1);
}
