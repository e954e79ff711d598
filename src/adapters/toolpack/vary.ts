// Owns: the machine that a process of a toolpack sees: invented from end to end, and in the other process another one.
// Refuses: to be a guard: it keeps an author's answers from differing between machines; the sandbox keeps packs from the machine.
import type { Time } from './keep-time.ts';

/** How this process's world differs from the other one's, beyond what its command line and environment say. */
export interface Variation {
  /** What it calls everything that two machines may differ in. */
  readonly word: string;
  /** A number that is in every number of the machine. */
  readonly id: number;
  readonly cpus: number;
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  /** The time when it begins, since 1970 and since the machine began. */
  readonly originMs: number;
  readonly sinceMs: number;
  /** How far a clock moves when it is read. */
  readonly stepMs: number;
  /** Every random bit is the other one. */
  readonly flip: boolean;
}

/** Shipped to that process as its own text: it may refer to nothing outside of itself. */
export function vary(machine: Variation, env: Readonly<Record<string, string>>, time: Time): void {
  type Table = Record<string, unknown>;
  type Fn = (...args: unknown[]) => unknown;
  const { word, id, cpus, node, platform, arch, originMs, sinceMs } = machine;
  const builtin = (name: string) => process.getBuiltinModule(name) as unknown as Table;
  const put = (target: object, values: Table): void => {
    for (const [key, value] of Object.entries(values))
      Object.defineProperty(target, key, { value, configurable: true, enumerable: true, writable: true });
  };
  const fixed = (names: string, values: Table): Table =>
    Object.fromEntries(names.split(' ').map((name, n) => [name, values[name] ?? (() => id + n)]));
  /** What would show the machine, or another clock, in both worlds is in neither of them. */
  const withhold = (target: object, name: string, keys: string): void => {
    for (const key of keys.split(' '))
      put(target, {
        [key]: function withheld() {
          const message = `Cannot use ${name}${key} in a toolpack: it shows the machine, or the order of things on it`;
          throw Object.assign(new Error(message), { code: 'ERR_WITHHELD' });
        },
      });
  };
  const [folder, home] = [`/${word}`, `/home/${word}`];
  const memory = { rss: id * 64, heapTotal: id * 32, heapUsed: id * 16, external: id * 2, arrayBuffers: id };

  inventSystem();
  inventProcess();
  inventFiles();
  inventTime();
  withholdRest();

  function inventSystem(): void {
    const times = { user: id, nice: 0, sys: id, idle: id, irq: 0 };
    const user = { uid: id, gid: id, username: word, homedir: home, shell: null };
    put(builtin('os'), {
      hostname: () => `${word}-host`,
      cpus: () => Array.from({ length: cpus }, () => ({ model: word, speed: id, times: { ...times } })),
      availableParallelism: () => cpus,
      totalmem: () => cpus * 2 ** 31,
      freemem: () => cpus * 2 ** 30,
      uptime: () => time.since() / 1_000,
      loadavg: () => [cpus, cpus, cpus],
      release: () => `${node}-${word}`,
      version: () => `#${id} ${word}`,
      machine: () => arch,
      arch: () => arch,
      platform: () => platform,
      type: () => platform,
      networkInterfaces: () => ({ [word]: [] }),
      getPriority: () => cpus,
      userInfo: () => ({ ...user }),
      homedir: () => home,
      tmpdir: () => `${folder}/tmp`,
    });
    put(Navigator.prototype, { hardwareConcurrency: cpus, userAgent: `Node.js/${node}`, platform: word });
    const crypto = builtin('crypto');
    for (const key of ['getHashes', 'getCiphers', 'getCurves']) {
      const real = crypto[key] as () => string[];
      put(crypto, { [key]: () => [...real(), ...Array(cpus).fill(word)] });
    }
  }

  function inventProcess(): void {
    // A property that a later Node.js brings is not there until somebody has looked at it.
    const KEPT =
      '_events _eventsCount _maxListeners domain _exiting exitCode _fatalException _tickCallback _preload_modules reallyExit exit ref unref emitWarning nextTick getBuiltinModule setUncaughtExceptionCaptureCallback hasUncaughtExceptionCaptureCallback sourceMapsEnabled setSourceMapsEnabled stderr abort env features argv0 permission'.split(
        ' ',
      );
    for (const key of Object.getOwnPropertyNames(process))
      if (!KEPT.includes(key) && Object.getOwnPropertyDescriptor(process, key)?.configurable)
        put(process, { [key]: undefined });
    const { Readable } = builtin('stream') as { Readable: typeof import('node:stream').Readable };
    const usage =
      'userCPUTime systemCPUTime maxRSS sharedMemorySize unsharedDataSize unsharedStackSize minorPageFault majorPageFault swappedOut fsRead fsWrite ipcSent ipcReceived signalsCount voluntaryContextSwitches involuntaryContextSwitches';
    const numbers = (names: string) => () =>
      Object.fromEntries(names.split(' ').map((name, n) => [name, id + n]));
    const names =
      'node acorn ada amaro ares brotli cldr icu llhttp modules napi nghttp2 openssl simdjson simdutf tz undici unicode uv uvwasi v8 zlib zstd';
    const hrtime = (before?: readonly [number, number]): [number, number] => {
      const nanos = BigInt(Math.floor(time.since() * 1e6));
      const past = before ? BigInt(before[0]) * 1_000_000_000n + BigInt(before[1]) : 0n;
      return [Number((nanos - past) / 1_000_000_000n), Number((nanos - past) % 1_000_000_000n)];
    };
    put(process, {
      stdin: Readable.from([]),
      version: `v${node}`,
      versions: Object.freeze(
        Object.fromEntries(
          names.split(' ').map((name) => [name, name === 'node' ? node : `${node}-${word}`]),
        ),
      ),
      release: Object.freeze({ name: 'node', lts: word, sourceUrl: '', headersUrl: '' }),
      config: Object.freeze({ target_defaults: {}, variables: numbers(usage.split(' ', cpus).join(' '))() }),
      arch,
      platform,
      pid: id,
      ppid: id - 1,
      title: word,
      argv: [`${folder}/node`],
      execArgv: [],
      execPath: `${folder}/node`,
      debugPort: id,
      cwd: () => folder,
      umask: () => cpus,
      ...fixed('getuid geteuid getgid getegid constrainedMemory availableMemory', {
        constrainedMemory: () => cpus * 2 ** 31,
        availableMemory: () => cpus * 2 ** 30,
      }),
      getgroups: () => [id],
      cpuUsage: numbers('user system'),
      threadCpuUsage: numbers('user system'),
      resourceUsage: numbers(usage),
      memoryUsage: Object.assign(() => ({ ...memory }), { rss: () => memory.rss }),
      hrtime: Object.assign(hrtime, { bigint: () => BigInt(Math.floor(time.since() * 1e6)) }),
      uptime: () => time.since() / 1_000,
    });
    // What the pack prints is no answer, and what the host says is not for it.
    Object.defineProperty(process, 'stdout', { configurable: true, get: () => process.stderr });
    for (const key of Object.keys(process.env)) if (!(key in env)) delete process.env[key];
    Object.assign(process.env, { HOME: home, PATH: `${folder}/bin`, PWD: folder, TMPDIR: `${folder}/tmp` });
  }

  function inventFiles(): void {
    const fs = builtin('fs');
    const promises = fs.promises as Table;
    /** Of a file its size and kind are the pack's own; the rest is its copy's. */
    const foreign = (stats: unknown): unknown => {
      if (typeof stats !== 'object' || stats === null) return stats;
      const all = stats as Table & { isDirectory(): boolean };
      const isBig = typeof all.dev === 'bigint';
      const as = (value: number) => (isBig ? BigInt(value) : value);
      const isFolder = all.isDirectory();
      const size = isFolder ? 4_096 : Number(all.size);
      const blocks = Math.ceil(size / 512);
      put(all, { dev: as(id), ino: as(id), uid: as(id), gid: as(id), rdev: as(0), nlink: as(1) });
      put(all, { size: as(size), blksize: as(id), blocks: as(blocks) });
      if (isFolder) put(all, { mode: as(0o40_755) });
      for (const key of ['atime', 'mtime', 'ctime', 'birthtime']) {
        put(all, { [`${key}Ms`]: as(originMs), [key]: new Date(originMs) });
        if (isBig) put(all, { [`${key}Ns`]: BigInt(originMs) * 1_000_000n });
      }
      return all;
    };
    for (const key of ['statSync', 'lstatSync', 'fstatSync']) {
      const real = fs[key] as Fn;
      put(fs, { [key]: (...args: unknown[]) => foreign(real(...args)) });
    }
    for (const key of ['stat', 'lstat', 'fstat']) {
      const real = fs[key] as Fn;
      put(fs, {
        [key](...args: unknown[]) {
          const done = args.pop();
          if (typeof done !== 'function') return real(...args, done);
          return real(...args, (error: unknown, stats: unknown) => (done as Fn)(error, foreign(stats)));
        },
      });
    }
    for (const key of ['stat', 'lstat']) {
      const real = promises[key] as (...args: unknown[]) => Promise<unknown>;
      put(promises, { [key]: async (...args: unknown[]) => foreign(await real(...args)) });
    }
    const open = promises.open as (...args: unknown[]) => Promise<Table>;
    put(promises, {
      async open(...args: unknown[]) {
        const handle = await open(...args);
        const stat = (handle.stat as (...args: unknown[]) => Promise<unknown>).bind(handle);
        put(handle, { stat: async (...given: unknown[]) => foreign(await stat(...given)) });
        return handle;
      },
    });
    // `opendir` lists as the disk does, `readdir` by name.
    withhold(fs, 'fs.', 'statfs statfsSync watch watchFile unwatchFile opendir opendirSync Dir');
    withhold(promises, 'fs.promises.', 'statfs watch opendir');
  }

  function inventTime(): void {
    const { now, since } = time;
    const RealDate = Date;
    globalThis.Date = new Proxy(RealDate, {
      construct: (target, args, made) =>
        Reflect.construct(target, args.length === 0 ? [now()] : args, made) as Date,
      apply: () => new RealDate(now()).toString(),
    });
    put(RealDate, { now });
    Object.defineProperty(RealDate.prototype, 'constructor', { value: globalThis.Date });
    const { prototype } = Intl.DateTimeFormat;
    const format = Object.getOwnPropertyDescriptor(prototype, 'format')?.get;
    const { formatToParts } = prototype;
    Object.defineProperty(prototype, 'format', {
      get(this: Intl.DateTimeFormat) {
        const bound = format?.call(this) as (date?: number | Date) => string;
        return (date?: number | Date) => bound(date ?? now());
      },
    });
    prototype.formatToParts = function invented(date) {
      return formatToParts.call(this, date ?? now());
    };
    const RealFile = File;
    const InventedFile = new Proxy(RealFile, {
      construct: (target, [parts, name, options], made) =>
        Reflect.construct(target, [parts, name, { lastModified: now(), ...options }], made) as File,
    });
    Object.defineProperty(RealFile.prototype, 'constructor', { value: InventedFile });
    put(globalThis, { File: InventedFile });
    put(builtin('buffer'), { File: InventedFile });
    Object.defineProperty(Event.prototype, 'timeStamp', { configurable: true, get: () => sinceMs });

    const entry = (entryType: string) => (name: string, options?: { detail?: unknown }) => ({
      name: `${name}`,
      entryType,
      startTime: since(),
      duration: 0,
      detail: options?.detail ?? null,
    });
    const none = () => [];
    const performs = Object.getPrototypeOf(performance) as object;
    put(performs, {
      now: since,
      timeOrigin: originMs,
      toJSON: () => ({ timeOrigin: originMs }),
      mark: entry('mark'),
      measure: entry('measure'),
      getEntries: none,
      getEntriesByName: none,
      getEntriesByType: none,
      nodeTiming: Object.freeze({ name: 'node', entryType: 'node', startTime: sinceMs, duration: sinceMs }),
      eventLoopUtilization: () => ({ idle: sinceMs, active: sinceMs, utilization: 0 }),
    });
    withhold(performs, 'performance.', 'timerify markResourceTiming');
    for (const key of Object.getOwnPropertyNames(performance)) delete (performance as unknown as Table)[key];
  }

  function withholdRest(): void {
    withhold(
      globalThis,
      '',
      'PerformanceObserver PerformanceMark PerformanceResourceTiming MessageChannel BroadcastChannel fetch EventSource',
    );
    // Node.js would load it to have it replaced.
    delete (globalThis as Partial<typeof globalThis>).WebSocket;
    // They count what happened in this process, and answer when it suits the machine.
    const hooks = builtin('async_hooks') as Table & { AsyncResource: { prototype: object } };
    withhold(hooks, 'async_hooks.', 'executionAsyncId triggerAsyncId executionAsyncResource createHook');
    withhold(hooks.AsyncResource.prototype, 'AsyncResource.', 'asyncId triggerAsyncId');
    withhold(Atomics, 'Atomics.', 'waitAsync');
    withhold(URL, 'URL.', 'createObjectURL revokeObjectURL');
    // When memory is collected is the machine's affair: what a weak reference holds stays, and nobody is told of an end.
    class StrongRef {
      readonly #target: object;
      constructor(target: object) {
        if ((typeof target !== 'object' || target === null) && typeof target !== 'function')
          throw new TypeError('Invalid value used as WeakRef target');
        this.#target = target;
      }
      deref(): object {
        return this.#target;
      }
    }
    class SilentRegistry {
      register(): void {}
      unregister(): boolean {
        return false;
      }
    }
    put(globalThis, { WeakRef: StrongRef, FinalizationRegistry: SilentRegistry });
  }
}
