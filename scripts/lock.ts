// Owns: `npm run lock`: a lock file that `npm ci` accepts also where the registry lacks packages for other platforms.
// Refuses: to change a version; it only leaves out optional packages that could not be resolved.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
// In an empty folder: beside an installed tree npm would write down what is installed, not what could be.
const folder = mkdtempSync(join(tmpdir(), 'haft-lock-'));
try {
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(root, name), join(folder, name));
  const { status } = spawnSync('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(
    join(root, 'package-lock.json'),
    prune(readFileSync(join(folder, 'package-lock.json'), 'utf8')),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

interface LockedPackage {
  optionalDependencies?: Record<string, string>;
}

function prune(text: string): string {
  const lock = JSON.parse(text) as { packages: Record<string, LockedPackage> };
  for (const [path, entry] of Object.entries(lock.packages)) {
    const kept = Object.entries(entry.optionalDependencies ?? {}).filter(
      ([name]) => lock.packages[`node_modules/${name}`] ?? lock.packages[`${path}/node_modules/${name}`],
    );
    if (kept.length > 0) entry.optionalDependencies = Object.fromEntries(kept);
    else delete entry.optionalDependencies;
  }
  return `${JSON.stringify(lock, null, 2)}\n`;
}
