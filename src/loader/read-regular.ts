// Owns: the bytes of a file that anybody may have put where it lies: a clone, an archive, an agent.
// Refuses: to wait: a pipe, a device, a socket or a folder in its place is an error with a code, at once.
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';

const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Follows links. Throws as `readFileSync` does, and with the code `ENOTREG` where it is no regular file. */
export const readRegular = (path: string): Buffer => withRegular(path, (fd) => readFileSync(fd), FLAGS);

/** The same without following a link at its end (`ELOOP`), for whoever wants more of it than its bytes. */
export function withRegular<T>(
  path: string,
  take: (descriptor: number, stats: Stats) => T,
  flags = FLAGS | constants.O_NOFOLLOW,
): T {
  const descriptor = openSync(path, flags);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw Object.assign(new Error('it is not a regular file'), { code: 'ENOTREG' });
    return take(descriptor, stats);
  } finally {
    closeSync(descriptor);
  }
}

export const readRegularText = (path: string): string => readRegular(path).toString('utf8');

/** Whether nothing can be read there, however long one waits. A socket is not even opened. */
export const isNotRegular = (thrown: unknown): boolean =>
  ['ENOTREG', 'ENXIO', 'EISDIR'].includes((thrown as NodeJS.ErrnoException).code ?? '');
