// Owns: making one process of a toolpack another machine than the next one: its time, its name, its size, its system.
// Refuses: to be a guard: it shows an author what differs between machines; the sandbox keeps packs from the machine.

/** How this process's world differs from the next one's, beyond what its command line and environment say. */
export interface Variation {
  readonly shiftMs: number;
  readonly hostname: string;
  readonly cpus: number;
  /** What it calls everything that two machines may differ in. Absent: as it is here. */
  readonly other?: string;
}

/** Shipped to that process as its own text: it may refer to nothing outside of itself. */
export function vary({ shiftMs, hostname, cpus, other }: Variation): void {
  type Table = Record<string, unknown>;
  const builtin = (name: string) => process.getBuiltinModule(name) as unknown as Table;
  const put = (target: object, values: Table): void => {
    for (const [key, value] of Object.entries(values))
      Object.defineProperty(target, key, { value, configurable: true, enumerable: true, writable: true });
  };
  const [os, fs, vm, v8, dns] = ['os', 'fs', 'vm', 'v8', 'dns'].map(builtin) as [
    Table,
    Table,
    Table,
    Table,
    Table,
  ];
  const first = (os.cpus as () => Table[])()[0];
  const cpu = first ?? { model: '', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } };
  put(os, {
    hostname: () => hostname,
    cpus: () =>
      Array.from({ length: cpus }, () => ({ ...cpu, ...(other ? { model: other, speed: 1 } : {}) })),
    availableParallelism: () => cpus,
    totalmem: () => cpus * 2 ** 31,
    freemem: () => cpus * 2 ** 30,
    uptime: () => 1_000 + shiftMs / 1_000,
    loadavg: () => [cpus, cpus, cpus],
  });

  // What would show the machine, or another clock, in both worlds is in neither of them.
  const withhold = (target: Table, name: string, keys: readonly string[]): void =>
    put(
      target,
      Object.fromEntries(
        keys.map((key) => [
          key,
          () => {
            throw Object.assign(new Error(`${name}.${key} is not available in a toolpack`), {
              code: 'ERR_WITHHELD',
            });
          },
        ]),
      ),
    );
  withhold(fs, 'fs', ['statfs', 'statfsSync']);
  withhold(fs.promises as Table, 'fs.promises', ['statfs']);
  withhold(vm, 'vm', ['createContext', 'runInNewContext']);
  withhold((vm.Script as { prototype: Table }).prototype, 'vm.Script', ['runInNewContext']);
  put(process, { report: undefined });

  if (other !== undefined) beOther(other);
  if (shiftMs !== 0) shiftTime();
  (builtin('module').syncBuiltinESMExports as () => void)();

  function beOther(word: string): void {
    const numbered = (values: object): Table =>
      Object.fromEntries(
        Object.entries(values).map(([key, value]) => [
          key,
          typeof value === 'number' ? value * 3 + 1_000_003 : value,
        ]),
      );
    const wrap = (target: Table, keys: readonly string[], change: (answer: never) => unknown): void => {
      for (const key of keys) {
        const real = target[key] as ((...args: unknown[]) => never) | undefined;
        if (real) put(target, { [key]: (...args: unknown[]) => change(real.apply(target, args)) });
      }
    };
    const proc = process as unknown as Table;
    const [node, folder] = ['99.1.2', `/${word}`];
    put(os, {
      release: () => '99.1.2-other',
      version: () => `#99 ${word}`,
      machine: () => 'riscv64',
      arch: () => 'riscv64',
      platform: () => 'freebsd',
      type: () => 'FreeBSD',
      networkInterfaces: () => ({}),
      getPriority: () => 7,
    });
    wrap(os, ['userInfo'], (info: Table) => ({
      ...info,
      uid: 4242,
      gid: 4242,
      username: word,
      homedir: `/home/${word}`,
    }));
    const versions = Object.keys(process.versions).map((key) => [key, key === 'node' ? node : `99.${word}`]);
    put(process, {
      version: `v${node}`,
      versions: Object.freeze(Object.fromEntries(versions)),
      release: Object.freeze({ ...process.release, lts: word, sourceUrl: '', headersUrl: '' }),
      arch: 'riscv64',
      platform: 'freebsd',
      config: Object.freeze({ target_defaults: {}, variables: { [word]: 1 } }),
      pid: 4242,
      ppid: 4241,
      title: word,
      argv: [`${folder}/node`, ...process.argv.slice(1)],
      execPath: `${folder}/node`,
      debugPort: 9_999,
      cwd: () => folder,
      umask: () => 0o027,
      getgroups: () => [4242],
    });
    for (const key of ['getuid', 'geteuid', 'getgid', 'getegid']) put(process, { [key]: () => 4242 });
    wrap(proc, ['constrainedMemory', 'availableMemory'], () => cpus * 2 ** 31);
    wrap(proc, ['cpuUsage', 'threadCpuUsage', 'resourceUsage', 'memoryUsage'], numbered);
    put(process.memoryUsage, { rss: () => cpus * 2 ** 27 });
    wrap(v8, ['getHeapStatistics', 'getHeapCodeStatistics'], numbered);
    wrap(v8, ['getHeapSpaceStatistics'], (spaces: object[]) => spaces.map(numbered));
    wrap(v8, ['cachedDataVersionTag'], (tag: number) => tag ^ 1);
    const foreign = (stats: Table | undefined) =>
      stats && Object.assign(stats, { dev: 99, uid: 4242, gid: 4242, blksize: 512 });
    wrap(fs, ['statSync', 'lstatSync', 'fstatSync'], foreign);
    wrap(fs.promises as Table, ['stat', 'lstat'], async (stats: Promise<Table>) => foreign(await stats));
    wrap(dns, ['getServers'], () => ['192.0.2.99']);
    wrap(dns.promises as Table, ['getServers'], () => ['192.0.2.99']);
    put(navigator, { hardwareConcurrency: cpus, userAgent: 'Node.js/99', platform: word });
    Object.assign(process.env, {
      HOME: `/home/${word}`,
      PATH: `${folder}/bin`,
      PWD: folder,
      TMPDIR: `${folder}/tmp`,
    });
  }

  function shiftTime(): void {
    const RealDate = Date;
    const now = () => RealDate.now() + shiftMs;
    globalThis.Date = new Proxy(RealDate, {
      construct: (target, args, made) =>
        Reflect.construct(target, args.length === 0 ? [now()] : args, made) as Date,
      apply: () => new RealDate(now()).toString(),
      get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
    });
    RealDate.prototype.constructor = globalThis.Date;
    const { prototype } = Intl.DateTimeFormat;
    const format = Object.getOwnPropertyDescriptor(prototype, 'format')?.get;
    const { formatToParts } = prototype;
    Object.defineProperty(prototype, 'format', {
      get(this: Intl.DateTimeFormat) {
        const bound = format?.call(this) as (date?: number | Date) => string;
        return (date?: number | Date) => bound(date ?? now());
      },
    });
    prototype.formatToParts = function shifted(date) {
      return formatToParts.call(this, date ?? now());
    };
    const lastModified = Object.getOwnPropertyDescriptor(File.prototype, 'lastModified')?.get;
    Object.defineProperty(File.prototype, 'lastModified', {
      configurable: true,
      get(this: File) {
        return (lastModified?.call(this) as number) + shiftMs;
      },
    });

    // The clocks that count from a start.
    const { hrtime, uptime } = process;
    const bigint = hrtime.bigint.bind(hrtime);
    const shifted = (before?: [number, number]): [number, number] => {
      const [seconds, nanos] = hrtime(before);
      return before ? [seconds, nanos] : [seconds + Math.round(shiftMs / 1_000), nanos];
    };
    put(process, {
      hrtime: Object.assign(shifted, { bigint: () => bigint() + BigInt(shiftMs) * 1_000_000n }),
      uptime: () => uptime.call(process) + shiftMs / 1_000,
    });
    const { timeOrigin } = performance;
    const since = performance.now.bind(performance);
    const elapsed = performance.eventLoopUtilization.bind(performance);
    put(performance, {
      now: () => since() + shiftMs,
      timeOrigin: timeOrigin + shiftMs,
      nodeTiming: Object.freeze({ name: 'node', entryType: 'node', startTime: shiftMs, duration: shiftMs }),
      toJSON: () => ({ timeOrigin: timeOrigin + shiftMs, now: since() + shiftMs }),
      eventLoopUtilization: () => ({ ...elapsed(), idle: shiftMs, active: shiftMs }),
    });
    const { startTime } = Object.getOwnPropertyDescriptors(PerformanceEntry.prototype);
    Object.defineProperty(PerformanceEntry.prototype, 'startTime', {
      configurable: true,
      get(this: unknown) {
        return (startTime.get?.call(this) as number) + shiftMs;
      },
    });
    const { timeStamp } = Object.getOwnPropertyDescriptors(Event.prototype);
    Object.defineProperty(Event.prototype, 'timeStamp', {
      configurable: true,
      get(this: Event) {
        return (timeStamp.get?.call(this) as number) + shiftMs;
      },
    });
  }
}
