// Owns: the flags with which files are opened, on systems that have them and on those that do not.
// Refuses: to open anything.
import { constants } from 'node:fs';

/** Linux: a descriptor that only marks a place. Opening it has no effect, not even on a device or a FIFO. */
export const O_PATH = process.platform === 'linux' ? 0o10000000 : 0;
/** Absent on Windows. */
export const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
export const O_DIRECTORY = constants.O_DIRECTORY ?? 0;
/** So that nothing that is opened can make the process wait. */
export const O_NONBLOCK = constants.O_NONBLOCK ?? 0;
