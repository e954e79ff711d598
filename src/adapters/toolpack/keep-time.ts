// Owns: time as a toolpack's process sees it: for each question a clock that moves when it is read and when its timers end, and one order of events.
// Refuses: the machine's own clock, and that anything happens while the host is asked.

/** The time of one question. */
export interface Timeline {
  /** Milliseconds since it began. */
  clock: number;
  timers: number;
  /** Linked lists, since the pack may have changed what arrays do. */
  next: Task | undefined;
  asked: Asked | undefined;
  unanswered: number;
  /** Takes back what is to happen next. */
  disarm: (() => void) | undefined;
  isFiring: boolean;
}

export interface Task {
  due: number;
  fire(): void;
  next: Task | undefined;
}

export interface Asked {
  deliver: (() => void) | undefined;
  next: Asked | undefined;
}

export interface Time {
  /** Milliseconds since 1970, and since the process began. */
  now(): number;
  since(): number;
  /** From now on nothing else happens in this question, until all that it asked is answered; answers come in the order of the questions. */
  ask(line: Timeline): (deliver: () => void) => void;
}

/**
 * Shipped to that process as its own text: it may refer to nothing outside of itself. `stepMs` is how far a clock moves when it is read.
 * Its pool of threads must have one thread: that gives files, compression and digests an order, too.
 */
export function keepTime(
  { originMs, sinceMs, stepMs }: { originMs: number; sinceMs: number; stepMs: number },
  current: () => Timeline,
): Time {
  type Fn = (...args: unknown[]) => unknown;
  type Table = Record<PropertyKey, unknown>;
  const timers = process.getBuiltinModule('node:timers') as unknown as Table;
  const { promises } = timers as unknown as { promises: Table };
  const { custom } = process.getBuiltinModule('node:util').promisify;
  const { fstat } = process.getBuiltinModule('node:fs');
  const { snapshot } = process.getBuiltinModule('node:async_hooks').AsyncLocalStorage;
  const { setTimeout: realTimeout, clearTimeout: realClear } = globalThis;
  const { apply } = Reflect;
  const { floor } = Math;
  const RealPromise = Promise;
  const inContext = snapshot.bind(process.getBuiltinModule('node:async_hooks').AsyncLocalStorage) as () => (
    fn: () => unknown,
  ) => unknown;
  const put = (target: object, values: Table): void => {
    for (const key of Reflect.ownKeys(values))
      Object.defineProperty(target, key, {
        value: values[key],
        configurable: true,
        enumerable: true,
        writable: true,
      });
  };
  // Whatever was handed to the one thread before has been answered when this is.
  const behindThePool = (then: () => void): void => fstat(0, then);

  const arm = (line: Timeline): void => {
    if (line.isFiring) return;
    line.disarm?.();
    line.disarm = undefined;
    const isAsked = line.asked !== undefined;
    if (isAsked ? line.unanswered > 0 : line.next === undefined) return;
    const delay = isAsked ? 0 : (line.next as Task).due - line.clock;
    // At once, not in another turn: in between, a file could be read or not.
    if (delay <= 0) return fire(line);
    const timer = realTimeout(() => fire(line), delay);
    line.disarm = () => realClear(timer);
  };
  const fire = (line: Timeline): void => {
    line.isFiring = true;
    line.disarm = undefined;
    behindThePool(() => {
      line.isFiring = false;
      step(line);
    });
  };

  const step = (line: Timeline): void => {
    const { asked, next } = line;
    if (asked) {
      if (line.unanswered > 0) return;
      line.asked = asked.next;
      arm(line);
      asked.deliver?.();
      return;
    }
    if (!next) return;
    line.next = next.next;
    if (next.due > line.clock) line.clock = next.due;
    try {
      next.fire();
    } finally {
      arm(line);
    }
  };

  const insert = (line: Timeline, task: Task): void => {
    let before: { next: Task | undefined } = line;
    while (before.next && before.next.due <= task.due) before = before.next;
    task.next = before.next;
    before.next = task;
    arm(line);
  };
  const remove = (line: Timeline, task: Task): void => {
    let before: { next: Task | undefined } = line;
    while (before.next && before.next !== task) before = before.next;
    if (before.next) before.next = task.next;
  };

  const LONGEST = 2 ** 31 - 1;
  const after = (ms: unknown): number => {
    const asked = Number(ms);
    return asked >= 1 && asked <= LONGEST ? floor(asked) : 1;
  };
  /** `ms` undefined: an immediate, which comes before every timer, and takes a moment. */
  const start = (callback: unknown, args: unknown[], ms: number | undefined, repeats: boolean): Timer => {
    if (typeof callback !== 'function') {
      const error = new TypeError(
        'The "callback" argument must be of type function.',
      ) as NodeJS.ErrnoException;
      error.code = 'ERR_INVALID_ARG_TYPE';
      throw error;
    }
    const line = current();
    line.timers += 1;
    const run = inContext();
    const task: Task = {
      due: 0,
      next: undefined,
      fire() {
        if (repeats) begin();
        else timer.isOver = true;
        if (ms === undefined) line.clock += 1 / 64;
        run(() => apply(callback as Fn, timer, args));
      },
    };
    const begin = (): void => {
      task.due = line.clock + (ms ?? 0);
      insert(line, task);
    };
    const timer = new Timer(line.timers, () => remove(line, task), begin);
    begin();
    return timer;
  };

  class Timer {
    isOver = false;
    readonly #id: number;
    readonly #end: () => void;
    readonly #begin: () => void;
    #hasRef = true;
    constructor(id: number, end: () => void, begin: () => void) {
      this.#id = id;
      this.#end = end;
      this.#begin = begin;
      Object.defineProperty(this, 'isOver', { enumerable: false });
    }
    ref(): this {
      this.#hasRef = true;
      return this;
    }
    unref(): this {
      this.#hasRef = false;
      return this;
    }
    hasRef(): boolean {
      return this.#hasRef;
    }
    refresh(): this {
      this.#end();
      this.isOver = false;
      this.#begin();
      return this;
    }
    close(): this {
      this.isOver = true;
      this.#end();
      return this;
    }
    [Symbol.toPrimitive](): number {
      return this.#id;
    }
    [Symbol.dispose](): void {
      this.close();
    }
    static isTimer(value: unknown): value is Timer {
      return typeof value === 'object' && value !== null && #id in value;
    }
  }
  const { close } = Timer.prototype;
  const { isTimer } = Timer;
  const clear = (timer: unknown): void => {
    if (isTimer(timer)) apply(close, timer, []);
  };

  const setTimeout = (callback: unknown, ms?: unknown, ...args: unknown[]) =>
    start(callback, args, after(ms), false);
  const setInterval = (callback: unknown, ms?: unknown, ...args: unknown[]) =>
    start(callback, args, after(ms), true);
  const setImmediate = (callback: unknown, ...args: unknown[]) => start(callback, args, undefined, false);
  const aborted = (signal: AbortSignal): Error => {
    const error = new Error('The operation was aborted', { cause: signal.reason }) as NodeJS.ErrnoException;
    error.name = 'AbortError';
    error.code = 'ABORT_ERR';
    return error;
  };
  const later = (ms: number | undefined, value: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new RealPromise((resolve, reject) => {
      if (signal?.aborted) return reject(aborted(signal));
      const abort = (): void => {
        clear(timer);
        reject(aborted(signal as AbortSignal));
      };
      const done = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      };
      const timer = start(done, [], ms, false);
      signal?.addEventListener('abort', abort, { once: true });
    });
  const promised = {
    setTimeout: (ms?: unknown, value?: unknown, options?: object) => later(after(ms), value, options),
    setImmediate: (value?: unknown, options?: object) => later(undefined, value, options),
    async *setInterval(ms?: unknown, value?: unknown, options?: object) {
      for (;;) yield await later(after(ms), value, options);
    },
    scheduler: {
      wait: (ms?: unknown, options?: object) => later(after(ms), undefined, options),
      yield: () => later(undefined, undefined),
    },
  };
  put(setTimeout, { [custom]: promised.setTimeout });
  put(setImmediate, { [custom]: promised.setImmediate });
  const all = {
    setTimeout,
    setInterval,
    setImmediate,
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  };
  put(globalThis, all);
  put(timers, all);
  put(promises, promised);
  put(AbortSignal, {
    timeout(ms: unknown) {
      const controller = new AbortController();
      start(
        () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
        [],
        after(ms),
        false,
      );
      return controller.signal;
    },
  });

  // Compiled at once: V8 would do so in threads of its own, and how long they take could be counted.
  const wasm = (globalThis as unknown as { WebAssembly: Table }).WebAssembly;
  const Module = wasm.Module as new (bytes: unknown) => object;
  const { toString: tag } = Object.prototype;
  const tagOf = (value: unknown) => apply(tag, value, []);
  const Instance = wasm.Instance as new (module: object, imports: unknown) => object;
  put(wasm, {
    compile: async (bytes: unknown) => new Module(bytes),
    instantiate: async (given: unknown, imports: unknown) => {
      if (tagOf(given) === '[object WebAssembly.Module]') return new Instance(given as object, imports);
      const module = new Module(given);
      return { module, instance: new Instance(module, imports) };
    },
    compileStreaming: undefined,
    instantiateStreaming: undefined,
  });

  const read = (): number => {
    const line = current();
    line.clock += stepMs;
    return line.clock;
  };
  return {
    now: () => floor(originMs + read()),
    since: () => sinceMs + read(),
    ask(line) {
      const asked: Asked = { deliver: undefined, next: undefined };
      let last = line.asked;
      while (last?.next) last = last.next;
      if (last) last.next = asked;
      else line.asked = asked;
      line.unanswered += 1;
      line.disarm?.();
      return (deliver) => {
        asked.deliver = deliver;
        line.unanswered -= 1;
        arm(line);
      };
    },
  };
}
