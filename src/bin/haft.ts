#!/usr/bin/env node
// Owns: the very first step of the command: is this Node new enough?
// Refuses: syntax or imports that an old Node could not read; everything else is behind the import.
import { loadMain, loadMcpFront } from './chunks.ts';

const NEEDED = [22, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < NEEDED[0]! || (major === NEEDED[0] && minor < NEEDED[1]!)) {
  process.stderr.write(
    `haft needs Node.js ${NEEDED.join('.')} or newer; this is ${process.versions.node}. Install a newer one from https://nodejs.org.\n`,
  );
  process.exitCode = 69;
} else {
  // Writes wait for the disk in the thread pool: four threads would make them wait for each other, sixteen are in each
  // other's way (overwrites of small files are slower by a fifth).
  process.env.UV_THREADPOOL_SIZE ??= '8';
  const [command, flag, workspace, ...more] = process.argv.slice(2);
  const plain =
    flag === undefined || (flag === '--workspace' && workspace !== undefined && more.length === 0);
  if (command === 'mcp' && plain) loadMcpFront().then((front) => front.mcpFront(workspace));
  else loadMain().then((program) => program.main());
}
