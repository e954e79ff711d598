// Owns: finding a busybox on this machine that runs in any image: linked statically, so that it needs nothing of it.
// Refuses: one that needs a loader; in most images it would not start.
import { closeSync, openSync, readSync } from 'node:fs';

const USUAL_PLACES = [
  '/bin/busybox',
  '/usr/bin/busybox',
  '/usr/lib/busybox/busybox-static',
  '/usr/local/bin/busybox',
];

export function findBusybox(given?: string): string | undefined {
  return (given === undefined ? USUAL_PLACES : [given]).find(isStatic);
}

/** Of an ELF file of 64 bits, little-endian, as all machines that Haft runs on have them. */
function isStatic(path: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return false;
  }
  try {
    const head = Buffer.alloc(4096);
    const length = readSync(fd, head, 0, head.length, 0);
    if (length < 64 || head.readUInt32BE(0) !== ELF || head[4] !== 2 || head[5] !== 1) return false;
    const [at, size, count] = [
      Number(head.readBigUInt64LE(32)),
      head.readUInt16LE(54),
      head.readUInt16LE(56),
    ];
    if (at + size * count > length) return false;
    return Array.from({ length: count }, (_, n) => head.readUInt32LE(at + n * size)).every(
      (type) => type !== INTERPRETER,
    );
  } finally {
    closeSync(fd);
  }
}

const ELF = 0x7f454c46;
const INTERPRETER = 3;
