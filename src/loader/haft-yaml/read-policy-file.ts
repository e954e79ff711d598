// Owns: getting the bytes of haft.yaml: a regular file, of sane size, that tools cannot write under another name.
// Refuses: waiting on a pipe, and following a link to where tools may write.
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { isWithin } from '../is-within.ts';
import type { Report } from '../yaml/report.ts';
import type { Resolved } from './check-environment.ts';

const MAX_BYTES = 1024 * 1024;
const START = { line: 1, column: 1 };

/** Undefined where there is nothing, or where it was reported why it cannot be read. */
export function readPolicyFile(path: string, workspace: string, report: Report): Uint8Array | undefined {
  let descriptor: number | undefined;
  try {
    if (
      lstatSync(path).isSymbolicLink() &&
      isWithin(realpathSync.native(path), realpathSync.native(workspace))
    ) {
      const message = 'It is a link to another file in the workspace, which tools could write';
      report.error('file.link', START, message, 'put the file itself here');
      return undefined;
    }
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) {
      report.error('file.not_regular', START, 'It is not a regular file');
      return undefined;
    }
    if (stat.size > MAX_BYTES) {
      report.error('file.too_large', START, `It is ${stat.size} bytes, over the limit of ${MAX_BYTES}`);
      return undefined;
    }
    return readFileSync(descriptor);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') report.error('file.unreadable', START, `It cannot be read (${code})`);
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** A file that lies below an extra root, or is a link to there, could be written by the tools that it binds. */
export function checkOutOfReach(path: string, { workspace, extraRoots }: Resolved, report: Report): void {
  if (extraRoots.length === 0) return;
  const real = realpathSync.native(path);
  if (isWithin(real, workspace) || !extraRoots.some((root) => isWithin(real, root))) return;
  report.error('file.link', START, 'It lies below one of paths.extra_roots, where tools could write it');
}
