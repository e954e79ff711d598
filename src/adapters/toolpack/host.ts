// Owns: the program that holds a toolpack in its own process: loads the module, answers the host's questions, one JSON line each.
// Refuses: trust. Whatever it says is checked again outside; it is here to run the pack's code, not to guard it.
import type { createEncoder, Unsafe } from './encode-answer.ts';
import type { keepTime, Timeline } from './keep-time.ts';
import type { Chance, seedChance } from './seed-chance.ts';
import type { Variation, vary } from './vary.ts';
import type { withholdModules } from './withhold-modules.ts';

// Every function here is shipped to that process as its own text, so that nothing but the pack has to be shown to it: each
// may refer to nothing outside of itself, and must not say `import()`, which the build turns into something else.
// The pack may change every builtin: what runs after it was loaded uses only what was taken before, and no iterator.

export interface HostOptions {
  /** The URL of the pack's module. */
  readonly entry: string;
  /** The text of the module `haft/toolpack`. */
  readonly toolpack: string;
  readonly variation: Variation;
  /** The variables that it may see, beside invented ones. */
  readonly env: Readonly<Record<string, string>>;
}

export interface HostPieces {
  load(specifier: string): Promise<{ readonly default?: unknown }>;
  readonly vary: typeof vary;
  readonly keepTime: typeof keepTime;
  readonly seedChance: typeof seedChance;
  readonly withholdModules: typeof withholdModules;
  readonly createEncoder: typeof createEncoder;
  readonly refusalIn: typeof refusalIn;
  readonly contextOf: typeof contextOf;
}

/** What the author's `refuseArgument` said. */
export interface RefusedArgument {
  readonly path: string;
  readonly fact: string;
}

type Ask = (method: string, ...params: readonly unknown[]) => Promise<unknown>;

interface Frame {
  readonly id?: number;
  readonly op?: string;
  readonly tool?: string;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly times?: number;
  readonly answer?: number;
  readonly ok?: boolean;
  readonly value?: unknown;
  readonly message?: string;
}

type AnyDefinition = Readonly<Record<string, unknown>>;

/** What one question has used of time and chance. */
type Scope = Chance & Timeline;

export function hostToolpack(options: HostOptions, pieces: HostPieces): void {
  const { stringify, parse } = JSON;
  const { apply, setPrototypeOf } = Reflect;
  const { keys, create } = Object;
  const { isArray } = Array;
  const [RealPromise, RealError, clone] = [Promise, Error, structuredClone];
  const { slice, indexOf } = String.prototype;
  const { writeSync, fstat } = process.getBuiltinModule('node:fs');
  const { from: bytesOf } = Buffer;
  const { setImmediate: soon } = globalThis;
  const { AsyncLocalStorage } = process.getBuiltinModule('node:async_hooks');
  const { registerHooks, syncBuiltinESMExports } = process.getBuiltinModule('node:module');
  const exit = process.exit.bind(process);
  const stdin = heldFast(process.stdin);
  const encoder = pieces.createEncoder();
  const cut = (text: string, most: number): string => apply(slice, text, [0, most]) as string;

  const send = (text: string): void => {
    const line = bytesOf(`${text}\n`);
    for (let at = 0; at < line.length; ) {
      try {
        at += writeSync(1, line, at);
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== 'EAGAIN') throw thrown;
      }
    }
  };

  const storage = new AsyncLocalStorage<Scope>();
  const within = storage.run.bind(storage) as <T>(scope: Scope, question: () => T) => T;
  const stored = storage.getStore.bind(storage);
  const newScope = (): Scope => ({
    state: 0,
    clock: 0,
    timers: 0,
    next: undefined,
    asked: undefined,
    unanswered: 0,
    disarm: undefined,
    isFiring: false,
  });
  // What is not done for any question, such as a queue that the module began, counts for the last one.
  let latest = newScope();
  const current = (): Scope => stored() ?? latest;

  type Waiter = { resolve(value: unknown): void; reject(reason: unknown): void };
  const waiting = create(null) as Record<number, ((frame: Frame) => void) | undefined>;
  let asked = 0;
  const askFor =
    (id: number, scope: Scope): Ask =>
    (method, ...params) =>
      new RealPromise((resolve, reject) => {
        let list = '';
        for (let n = 0; n < params.length; n++)
          list += `${n === 0 ? '' : ','}${(stringify(params[n]) as string | undefined) ?? 'null'}`;
        asked += 1;
        const answered = time.ask(scope);
        const waiter: Waiter = { resolve, reject };
        waiting[asked] = ({ ok, value, message }) =>
          answered(() => (ok ? waiter.resolve(value) : waiter.reject(new RealError(message))));
        send(`{"ask":${asked},"for":${id},"method":${stringify(method)},"params":[${list}]}`);
      });

  // The pool of threads takes its size from the environment when it is first used.
  fstat(0, () => {});
  const time = pieces.keepTime(options.variation, current);
  pieces.seedChance(options.variation.flip, current);
  pieces.vary(options.variation, options.env, time);
  const check = pieces.withholdModules();
  syncBuiltinESMExports();
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'haft/toolpack')
        return { url: 'haft:toolpack', format: 'module', shortCircuit: true };
      check(specifier);
      return next(specifier, context);
    },
    load(url, context, next) {
      if (url === 'haft:toolpack') return { format: 'module', source: options.toolpack, shortCircuit: true };
      check(url);
      return next(url, context);
    },
  });
  // No answer could be waited for without them: who changes them is told so, by the line that does it.
  Object.preventExtensions(Object.prototype);
  for (const [target, key] of [
    [Promise.prototype, 'then'],
    [Promise.prototype, 'constructor'],
    [Promise, Symbol.species],
  ] as const)
    Object.defineProperty(target, key, {
      configurable: false,
      ...(key === Symbol.species ? {} : { writable: false }),
    });

  const isPlaced = /^(?:file:\/\/)?\/.*:\d+\n/;
  const loaded = pieces
    .load(options.entry)
    .then(({ default: given }) => {
      if (given === undefined) throw new RealError('the module has no default export');
      return { list: (isArray(given) ? given : [given]) as readonly unknown[] };
    })
    .catch((thrown: unknown) => {
      if (!(thrown instanceof SyntaxError) || isPlaced.test(thrown.stack ?? '')) throw thrown;
      // Where it is Node.js says only when a process ends of it.
      return new RealPromise<never>(() =>
        soon(() => {
          throw thrown;
        }),
      );
    });
  loaded.catch(() => {});

  const find = async (name: string | undefined): Promise<{ tool: AnyDefinition }> => {
    const { list } = await loaded;
    for (let n = 0; n < list.length; n++) {
      const tool = list[n] as AnyDefinition | null;
      if (tool?.toolName === name) return { tool: tool as AnyDefinition };
    }
    throw new RealError(`the module has no tool "${name}"`);
  };
  const call = (tool: AnyDefinition, method: string, ...args: unknown[]): unknown =>
    apply(tool[method] as () => unknown, tool, args);
  const schemaOf = (value: unknown): unknown => {
    const standard = (
      value as { '~standard'?: { jsonSchema?: { input(options: object): unknown } } } | null | undefined
    )?.['~standard'];
    if (standard === undefined) return value;
    if (!standard.jsonSchema) throw new RealError('its library does not implement Standard JSON Schema');
    return standard.jsonSchema.input({ target: 'draft-2020-12' });
  };
  /** A list or an object of texts that are JSON already. */
  const joined = (before: string, one: string): string => (before === '' ? one : `${before},${one}`);
  const describe = (one: unknown): string => {
    if (typeof one !== 'object' || one === null) {
      const fact = stringify(`it is ${one === null ? 'null' : `a ${typeof one}`}`);
      return `{"fields":{},"functions":[],"faults":[{"key":"","fact":${fact}}]}`;
    }
    let fields = '';
    let functions = '';
    let faults = '';
    const names = keys(one);
    for (let n = 0; n < names.length; n++) {
      const key = names[n] as string;
      const named = stringify(key);
      const fault = (path: string, fact: string): void => {
        faults = joined(faults, `{"key":${named},"path":${stringify(path)},"fact":${stringify(fact)}}`);
      };
      try {
        const given = (one as AnyDefinition)[key];
        if (key === 'canonicalize' || key === 'run') {
          if (typeof given === 'function') functions = joined(functions, named);
          continue;
        }
        const { text, unsafe } = encoder(key === 'input' || key === 'result' ? schemaOf(given) : given);
        if (unsafe) fault(unsafe.path, unsafe.fact);
        else fields = joined(fields, `${named}:${text}`);
      } catch (thrown) {
        fault('', said(thrown, 'message'));
      }
    }
    return `{"fields":{${fields}},"functions":[${functions}],"faults":[${faults}]}`;
  };
  const said = (thrown: unknown, key: 'message' | 'stack'): string => {
    try {
      const text = (thrown as Error | null | undefined)?.[key];
      return `${text ?? (key === 'stack' ? '' : (thrown as string))}`;
    } catch {
      return key === 'stack' ? '' : 'it threw something that cannot be shown as text';
    }
  };

  type Answer = { readonly text?: string; readonly unsafe?: Unsafe };
  const answer = async ({ id = 0, op, tool: name, input = {}, times = 1 }: Frame): Promise<Answer> => {
    if (op === 'load') {
      await loaded;
      return { text: 'null' };
    }
    if (op === 'describe') {
      const { list } = await loaded;
      let all = '';
      for (let n = 0; n < list.length; n++) all = joined(all, describe(list[n]));
      return { text: `[${all}]` };
    }
    const { tool } = await find(name);
    let last: unknown;
    for (let n = 0; n < times; n++) {
      const scope = newScope();
      latest = scope;
      const ask = askFor(id, scope);
      last = await within(scope, () =>
        op === 'run'
          ? call(
              tool,
              'run',
              pieces.contextOf(ask, { ...clone(input), declaredOutputs: tool.declaredOutputs }).run,
            )
          : call(tool, 'canonicalize', clone(input), pieces.contextOf(ask, {}).canonicalize),
      );
    }
    return encoder(last);
  };
  const handle = async (frame: Frame): Promise<void> => {
    if (frame.answer !== undefined) {
      const answered = waiting[frame.answer];
      delete waiting[frame.answer];
      answered?.(frame);
      return;
    }
    const re = `{"re":${frame.id},"ok":`;
    try {
      const { text, unsafe } = await answer(frame);
      if (!unsafe) return send(`${re}true,"value":${text}}`);
      send(`${re}false,"unsafe":{"path":${stringify(unsafe.path)},"fact":${stringify(unsafe.fact)}}}`);
    } catch (thrown) {
      const refused = pieces.refusalIn(thrown, cut);
      const path = stringify(refused?.path);
      const fact = stringify(refused?.fact);
      const message = stringify(cut(said(thrown, 'message'), 2_000));
      const stack = stringify(cut(said(thrown, 'stack'), 8_000));
      send(
        refused
          ? `${re}false,"refused":{"path":${path},"fact":${fact}}}`
          : `${re}false,"message":${message},"stack":${stack}}`,
      );
    }
  };

  let rest = '';
  stdin.setEncoding('utf8');
  const take = (chunk: string): void => {
    let from = 0;
    for (;;) {
      const end = apply(indexOf, chunk, ['\n', from]) as number;
      if (end === -1) break;
      const frame = parse(rest + (apply(slice, chunk, [from, end]) as string)) as Frame;
      // What it does not say it does not inherit either.
      setPrototypeOf(frame, null);
      rest = '';
      from = end + 1;
      void handle(frame);
    }
    rest += apply(slice, chunk, [from]) as string;
  };
  // Events are told by the listener's `apply`.
  Object.defineProperty(take, 'apply', { value: Function.prototype.apply });
  stdin.on('data', take);
  stdin.on('end', () => exit(0));

  /** The stream with its methods as its own: what the pack makes of those of all streams does not change it. */
  function heldFast<T extends object>(stream: T): T {
    for (let from = stream; from && from !== Object.prototype; from = Object.getPrototypeOf(from) as T)
      for (const key of Object.getOwnPropertyNames(from)) {
        const { value } = Object.getOwnPropertyDescriptor(from, key) ?? {};
        if (typeof value === 'function' && key !== 'constructor' && !Object.hasOwn(stream, key))
          Object.defineProperty(stream, key, { value, configurable: true, writable: true });
      }
    return stream;
  }
}

/** Both contexts, as the ABI shows them; every method is a question to the host. */
export function contextOf(ask: Ask, input: Readonly<Record<string, unknown>>) {
  return {
    canonicalize: Object.freeze({
      artifacts: Object.freeze({
        stat: (artifactId: unknown) => ask('artifacts.stat', artifactId),
        readText: (artifactId: unknown, options?: { maxBytes?: number }) =>
          ask('artifacts.readText', artifactId, options?.maxBytes ?? null),
      }),
      images: Object.freeze({
        pin: (reference: unknown, options?: { optional?: boolean }) =>
          options?.optional === true
            ? ask('images.pin', reference, 'optional')
            : ask('images.pin', reference),
      }),
    }),
    run: Object.freeze({
      ...input,
      execute: () => ask('run.execute'),
      linkOutput: (role: unknown) => ask('run.link', role),
      readOutput: (role: unknown, options?: { maxBytes?: number }) =>
        ask('run.read', role, options?.maxBytes ?? null),
      log: (text: unknown) => ask('run.log', String(text)),
      checkpoint: (state: unknown) => ask('run.checkpoint', state),
    }),
  };
}

/** Whatever the author's own code made of it on the way: it is known by its mark. */
export function refusalIn(
  thrown: unknown,
  cut: (text: string, most: number) => string,
): RefusedArgument | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  try {
    const { refusedArgument: path, message } = thrown as { refusedArgument?: unknown; message?: unknown };
    return typeof path === 'string'
      ? { path: cut(path, 500), fact: cut(`${message as string}`, 2_000) }
      : undefined;
  } catch {
    return undefined;
  }
}
