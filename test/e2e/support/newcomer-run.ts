// Owns: a newcomer's first toolpack from the sources, by whoever runs this: prints what the call answered.
// Refuses: to judge it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HAFT = join(import.meta.dirname, '../../../src/bin/haft.ts');
const folder = mkdtempSync(join(tmpdir(), 'haft-newcomer-'));
const home = join(folder, 'home');
const workspace = join(folder, 'ws');
for (const made of [home, workspace]) mkdirSync(made);

function haft(...args: string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [HAFT, ...args], {
    cwd: workspace,
    encoding: 'utf8',
    env: { ...process.env, HOME: home },
  });
  if (status !== 0) process.stderr.write(stderr);
  return stdout;
}

try {
  haft('init');
  haft('toolpack', 'new', 'my_tool');
  process.stdout.write(haft('call', 'my_tool', '{"text":"a b"}', '--json'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
