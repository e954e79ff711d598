// Owns: `ctx.processes`: what can be seen of the machine's processes.
// Refuses: to start, end or change one.

/** Looks at the process table, as far as the operating system shows it to this process. */
export interface ProcessHandle {
  /**
   * Asks `scope.admit` for `proc.list`. Secrets in command lines are made unreadable before anybody sees them. A process
   * that ends while it is looked at is left out. Throws `tool.failed` where the system has no /proc.
   */
  list(query: ProcessQuery): Promise<ProcessListing>;
}

export interface ProcessQuery {
  /** Whether a process is wanted, by its command line as it is shown. Absent: all are. */
  readonly wants?: ((cmd: string) => boolean) | undefined;
  readonly limit: number;
}

export interface ProcessListing {
  /** The first `limit`, those that used most processor time first, then in order of their ids. */
  readonly processes: readonly ProcessInfo[];
  /** How many are wanted in all. */
  readonly total: number;
}

export interface ProcessInfo {
  readonly pid: number;
  /** 0 where it has none that can be seen. */
  readonly ppid: number;
  /**
   * The command line, its arguments parted by blanks, cut at 4096 characters. The name in brackets where there is none:
   * kernel threads, and processes that have ended and wait to be collected. Bytes that are not UTF-8 are shown as U+FFFD.
   */
  readonly cmd: string;
  /**
   * Processor time in per cent of the time since it started, as `ps` shows %cpu: 100 is one processor kept busy, and
   * more than that several.
   */
  readonly cpu: number;
  /** Resident memory in MiB, as `ps` shows RSS. */
  readonly memMb: number;
  /** Whose rights it has (the effective user): a name, or the number where there is no name. */
  readonly user: string;
  /** When it started, in milliseconds since 1970; exact to a few clock ticks of 10 ms. */
  readonly startedMs: number;
}
