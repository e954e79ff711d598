// Owns: the system calls that no sandboxed program gets, as the BPF program that bubblewrap loads.
// Refuses: to be the only wall. Namespaces and absent capabilities stop most of these already; what only this
// stops is a set-user-ID file left in the workspace, AF_VSOCK (which no network namespace holds) and io_uring.

/** The filter's bytes for a CPU, or undefined where its numbers are not known. */
export function seccompFilter(arch: string = process.arch): Uint8Array | undefined {
  const table = TABLES[arch];
  return table && encode(assemble(table));
}

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const SET_ID_BITS = 0o6000;
const CREATING = 0o100 | 0o20000000; // O_CREAT, and the bit of O_TMPFILE that O_DIRECTORY lacks
const NEW_NAMESPACES = 0x7e020000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const FAMILIES = [1, 2, 10, 16]; // AF_UNIX, AF_INET, AF_INET6, AF_NETLINK

/** Never granted. ENOSYS where callers then fall back to an older call that this filter can look into. */
const REFUSED: Readonly<Record<string, number>> = {
  mount: EPERM,
  umount2: EPERM,
  pivot_root: EPERM,
  open_tree: EPERM,
  move_mount: EPERM,
  fsopen: EPERM,
  fsconfig: EPERM,
  fsmount: EPERM,
  fspick: EPERM,
  mount_setattr: EPERM,
  open_tree_attr: EPERM,
  unshare: EPERM,
  setns: EPERM,
  open_by_handle_at: EPERM,
  add_key: EPERM,
  request_key: EPERM,
  keyctl: EPERM,
  bpf: EPERM,
  perf_event_open: EPERM,
  userfaultfd: EPERM,
  io_uring_setup: ENOSYS,
  io_uring_enter: ENOSYS,
  io_uring_register: ENOSYS,
  clone3: ENOSYS,
  openat2: ENOSYS,
};

/** Which argument holds the permission bits, and which the flags that make them count. */
const MODES: Readonly<Record<string, { readonly mode: number; readonly flags?: number }>> = {
  chmod: { mode: 1 },
  fchmod: { mode: 1 },
  fchmodat: { mode: 2 },
  fchmodat2: { mode: 2 },
  creat: { mode: 1 },
  mknod: { mode: 1 },
  mknodat: { mode: 2 },
  open: { mode: 2, flags: 1 },
  openat: { mode: 3, flags: 2 },
};

interface Table {
  readonly audit: number;
  readonly numbers: Readonly<Record<string, number>>;
}

/** From 424 on all CPUs share their numbers. */
const SHARED = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  clone3: 435,
  openat2: 437,
  mount_setattr: 442,
  fchmodat2: 452,
  open_tree_attr: 467,
};

const TABLES: Readonly<Record<string, Table>> = {
  x64: {
    audit: 0xc000003e,
    numbers: {
      ...SHARED,
      open: 2,
      ioctl: 16,
      socket: 41,
      socketpair: 53,
      clone: 56,
      creat: 85,
      chmod: 90,
      fchmod: 91,
      mknod: 133,
      pivot_root: 155,
      mount: 165,
      umount2: 166,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      openat: 257,
      mknodat: 259,
      fchmodat: 268,
      unshare: 272,
      perf_event_open: 298,
      open_by_handle_at: 304,
      setns: 308,
      bpf: 321,
      userfaultfd: 323,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    numbers: {
      ...SHARED,
      ioctl: 29,
      mknodat: 33,
      umount2: 39,
      mount: 40,
      pivot_root: 41,
      fchmod: 52,
      fchmodat: 53,
      openat: 56,
      unshare: 97,
      socket: 198,
      socketpair: 199,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      clone: 220,
      perf_event_open: 241,
      open_by_handle_at: 265,
      setns: 268,
      bpf: 280,
      userfaultfd: 282,
    },
  },
};

/** code, jump if true, jump if false, operand: a struct sock_filter. */
type Instruction = readonly [number, number, number, number];

const loadWord = (offset: number): Instruction => [0x20, 0, 0, offset];
const jumpIfEqual = (value: number, yes: number, no: number): Instruction => [0x15, yes, no, value];
const jumpIfAnyBit = (mask: number, yes: number, no: number): Instruction => [0x45, yes, no, mask];
const jumpIfAtLeast = (value: number, yes: number, no: number): Instruction => [0x35, yes, no, value];
const ALLOW: Instruction = [0x06, 0, 0, 0x7fff0000];
const answer = (errno: number): Instruction => [0x06, 0, 0, 0x00050000 | errno];

const NR = loadWord(0);
const ARCH = loadWord(4);
/** The low half of an argument: all that the kernel reads of the ones looked at here. */
const argument = (index: number): Instruction => loadWord(16 + 8 * index);

function assemble({ audit, numbers }: Table): Instruction[] {
  // Another calling convention (i386, x32) has other numbers: none of its calls is let through.
  const out: Instruction[] = [ARCH, jumpIfEqual(audit, 1, 0), answer(ENOSYS), NR];
  out.push(jumpIfAtLeast(0x40000000, 0, 1), answer(ENOSYS));
  const onCall = (name: string, body: readonly Instruction[]) => {
    const number = numbers[name];
    if (number !== undefined) out.push(jumpIfEqual(number, 0, body.length), ...body);
  };
  for (const [name, errno] of Object.entries(REFUSED)) onCall(name, [answer(errno)]);
  for (const [name, { mode, flags }] of Object.entries(MODES)) {
    const bits = [argument(mode), jumpIfAnyBit(SET_ID_BITS, 0, 1), answer(EPERM), ALLOW];
    onCall(name, flags === undefined ? bits : [argument(flags), jumpIfAnyBit(CREATING, 0, 3), ...bits]);
  }
  onCall('clone', [argument(0), jumpIfAnyBit(NEW_NAMESPACES, 0, 1), answer(EPERM), ALLOW]);
  onCall('ioctl', [
    argument(1),
    jumpIfEqual(TIOCSTI, 1, 0),
    jumpIfEqual(TIOCLINUX, 0, 1),
    answer(EPERM),
    ALLOW,
  ]);
  for (const name of ['socket', 'socketpair']) {
    const allowed = FAMILIES.map((family, i) => jumpIfEqual(family, FAMILIES.length - i, 0));
    onCall(name, [argument(0), ...allowed, answer(EAFNOSUPPORT), ALLOW]);
  }
  out.push(ALLOW);
  return out;
}

function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  program.forEach(([code, yes, no, operand], i) => {
    bytes.setUint16(i * 8, code, true);
    bytes.setUint8(i * 8 + 2, yes);
    bytes.setUint8(i * 8 + 3, no);
    bytes.setUint32(i * 8 + 4, operand >>> 0, true);
  });
  return new Uint8Array(bytes.buffer);
}
