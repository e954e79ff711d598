// Owns: the system calls that no sandboxed program gets, as the BPF program that bubblewrap loads; and the small program that gives
// up the right to start processes and then becomes another program. It is a few machine instructions, written out below with what
// they do: only the process itself can do this, after everything that a sandbox starts beside it is there; no shell can.
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

/** An ELF file for a CPU, or undefined where its instructions are not known: `program [path, arguments…]`. */
export function singleProcessProgram(arch: string = process.arch): Uint8Array | undefined {
  const machine = MACHINES[arch];
  if (!machine) return undefined;
  const filter = filterOf(machine);
  // The struct sock_fprog that prctl reads: how many instructions, and where they are.
  const fprogAt = align(HEADER_BYTES + machine.code(0).length * machine.wordBytes);
  const filterAt = fprogAt + 16;
  const file = new DataView(new ArrayBuffer(filterAt + filter.length * 8));
  writeHeader(file, machine.elf);
  machine.code(LOADED_AT + fprogAt).forEach((word, i) => {
    if (machine.wordBytes === 4) file.setUint32(HEADER_BYTES + i * 4, word, true);
    else file.setUint8(HEADER_BYTES + i, word);
  });
  file.setUint16(fprogAt, filter.length, true);
  file.setBigUint64(fprogAt + 8, BigInt(LOADED_AT + filterAt), true);
  filter.forEach(([code, yes, no, operand], i) => {
    const at = filterAt + i * 8;
    file.setUint16(at, code, true);
    file.setUint8(at + 2, yes);
    file.setUint8(at + 3, no);
    file.setUint32(at + 4, operand, true);
  });
  return new Uint8Array(file.buffer);
}

const LOADED_AT = 0x400000;
const HEADER_BYTES = 64 + 56;
const CLONE_THREAD = 0x10000;

interface Machine {
  /** `e_machine` of the ELF header. */
  readonly elf: number;
  /** Calls that always make a process; clone makes one unless it makes a thread. clone3 is refused to everybody. */
  readonly forks: readonly number[];
  readonly clone: number;
  /** Bytes of an element of `code`. */
  readonly wordBytes: 1 | 4;
  code(fprog: number): readonly number[];
}

const bytesOf = (value: number): number[] => [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff);

/**
 * prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog), then execve(argv[1], argv + 1, envp); exit_group(126) where either
 * fails. The stack of a new program holds argc, argv, a null, envp.
 */
const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    elf: 62,
    forks: [57, 58],
    clone: 56,
    wordBytes: 1,
    code: (fprog) => [
      ...[0xbf, ...bytesOf(22)], // mov edi, PR_SET_SECCOMP
      ...[0xbe, ...bytesOf(2)], // mov esi, SECCOMP_MODE_FILTER
      ...[0xba, ...bytesOf(fprog)], // mov edx, fprog
      ...[0xb8, ...bytesOf(157)], // mov eax, prctl
      ...[0x0f, 0x05], // syscall
      ...[0x85, 0xc0], // test eax, eax
      ...[0x75, 0x1a], // jnz to exit
      ...[0x48, 0x8b, 0x7c, 0x24, 0x10], // mov rdi, [rsp + 16]
      ...[0x48, 0x8d, 0x74, 0x24, 0x10], // lea rsi, [rsp + 16]
      ...[0x48, 0x8b, 0x04, 0x24], // mov rax, [rsp]
      ...[0x48, 0x8d, 0x54, 0xc4, 0x10], // lea rdx, [rsp + rax * 8 + 16]
      ...[0xb8, ...bytesOf(59)], // mov eax, execve
      ...[0x0f, 0x05], // syscall
      ...[0xbf, ...bytesOf(126)], // mov edi, 126
      ...[0xb8, ...bytesOf(231)], // mov eax, exit_group
      ...[0x0f, 0x05], // syscall
    ],
  },
  arm64: {
    elf: 183,
    forks: [],
    clone: 220,
    wordBytes: 4,
    code: (fprog) => [
      0xd28002c0, // mov x0, PR_SET_SECCOMP
      0xd2800041, // mov x1, SECCOMP_MODE_FILTER
      0x52800002 | ((fprog & 0xffff) << 5), // mov w2, the low half of fprog
      0x72a00002 | ((fprog >>> 16) << 5), // movk w2, the high half
      0xd28014e8, // mov x8, prctl
      0xd4000001, // svc 0
      0xb50000e0, // cbnz x0, to exit
      0xf9400be0, // ldr x0, [sp, 16]
      0x910043e1, // add x1, sp, 16
      0xf94003e3, // ldr x3, [sp]
      0x8b030c22, // add x2, x1, x3, lsl 3
      0xd2801ba8, // mov x8, execve
      0xd4000001, // svc 0
      0xd2800fc0, // mov x0, 126
      0xd2800bc8, // mov x8, exit_group
      0xd4000001, // svc 0
    ],
  },
};

function filterOf({ forks, clone }: Machine): Instruction[] {
  const refuse: Instruction = [0x06, 0, 0, 0x00050000 | EPERM];
  return [
    [0x20, 0, 0, 0], // the call's number
    ...forks.flatMap((number): Instruction[] => [[0x15, 0, 1, number], refuse]),
    [0x15, 0, 3, clone],
    [0x20, 0, 0, 16], // its first argument
    [0x45, 1, 0, CLONE_THREAD],
    refuse,
    [0x06, 0, 0, 0x7fff0000],
  ];
}

/** One segment, readable and executable, that holds the whole file. */
function writeHeader(file: DataView, machine: number): void {
  [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1].forEach((byte, i) => {
    file.setUint8(i, byte);
  });
  file.setUint16(16, 2, true); // ET_EXEC
  file.setUint16(18, machine, true);
  file.setUint32(20, 1, true);
  file.setBigUint64(24, BigInt(LOADED_AT + HEADER_BYTES), true); // where it begins
  file.setBigUint64(32, 64n, true); // where the one program header is
  file.setUint16(52, 64, true);
  file.setUint16(54, 56, true);
  file.setUint16(56, 1, true);
  file.setUint32(64, 1, true); // PT_LOAD
  file.setUint32(68, 5, true); // read, execute
  file.setBigUint64(80, BigInt(LOADED_AT), true);
  file.setBigUint64(88, BigInt(LOADED_AT), true);
  file.setBigUint64(96, BigInt(file.byteLength), true);
  file.setBigUint64(104, BigInt(file.byteLength), true);
  file.setBigUint64(112, 0x1000n, true);
}

const align = (at: number): number => Math.ceil(at / 8) * 8;
