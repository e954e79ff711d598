// Owns: Desktop Commander as a peer: installed beside the dependencies when it is first measured, started without a network.
// Refuses: to be a dependency: its install script reports home. Newer versions bring a browser and a PDF renderer, which
// no search needs; this is the last one without.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerCommand } from './mcp-client.ts';
import { ROOT } from './product.ts';

const PACKAGE = '@wonderwhy-er/desktop-commander';
const VERSION = '0.2.23';
const FOLDER = join(ROOT, 'node_modules/.cache/haft-bench', `desktop-commander-${VERSION}`);
const MAIN = join(FOLDER, 'node_modules', PACKAGE, 'dist/index.js');

/** `home`: a folder for its configuration. */
export function desktopCommander(home: string): ServerCommand {
  if (!existsSync(MAIN)) install();
  const configuration = join(home, '.claude-server-commander');
  mkdirSync(configuration, { recursive: true });
  writeFileSync(
    join(configuration, 'config.json'),
    JSON.stringify({ telemetryEnabled: false, allowedDirectories: [], blockedCommands: [] }),
  );
  return {
    args: ['--import', join(ROOT, 'bench/peers/no-network.mjs'), MAIN],
    cwd: home,
    env: { HOME: home },
  };
}

function install(): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'package.json'), '{"private":true}\n');
  const { status } = spawnSync(
    'npm',
    ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', `${PACKAGE}@${VERSION}`],
    { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  if (status !== 0 || !existsSync(MAIN)) throw new Error(`${PACKAGE}@${VERSION} could not be installed`);
}
