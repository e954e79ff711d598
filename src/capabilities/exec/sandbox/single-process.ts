// Owns: the small program that gives up the right to start processes and then becomes another program.
// Refuses: to be installed or compiled: it is a few machine instructions, written out below with what they do. Only the
// process itself can do this, after everything that a sandbox starts beside it is there; no shell can.

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
const EPERM = 1;
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

/** code, jump if true, jump if false, operand: a struct sock_filter. Other calling conventions are refused by `seccomp`. */
type Instruction = readonly [number, number, number, number];

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
