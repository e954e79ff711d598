// Owns: the program that holds a toolpack in its own process: loads the module, answers the host's questions, one JSON line each.
// Refuses: trust. Whatever it says is checked again outside; it is here to run the pack's code, not to guard it.

import type { Variation, vary } from './vary.ts';

// Every function here is shipped to that process as its own text, so that nothing but the pack has to be shown to it: each
// may refer to nothing outside of itself, and must not say `import()`, which the build turns into something else.

export interface HostOptions {
  /** The URL of the pack's module. */
  readonly entry: string;
  /** The text of the module `haft/toolpack`. */
  readonly toolpack: string;
  readonly variation: Variation;
}

export interface HostPieces {
  load(specifier: string): Promise<{ readonly default?: unknown }>;
  readonly vary: typeof vary;
  readonly findUnsafe: typeof findUnsafe;
  readonly refusalIn: typeof refusalIn;
  readonly contextOf: typeof contextOf;
}

/** One thing in a value that JSON cannot say. */
export interface Unsafe {
  readonly path: string;
  readonly fact: string;
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

export function hostToolpack(options: HostOptions, pieces: HostPieces): void {
  const write = process.stdout.write.bind(process.stdout);
  // What the pack prints is no answer.
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  const send = (frame: object) => void write(`${JSON.stringify(frame)}\n`);
  const waiting = new Map<number, { resolve(value: unknown): void; reject(reason: unknown): void }>();
  let asked = 0;
  const askFor =
    (id: number): Ask =>
    (method, ...params) =>
      new Promise((resolve, reject) => {
        asked += 1;
        waiting.set(asked, { resolve, reject });
        send({ ask: asked, for: id, method, params });
      });

  pieces.vary(options.variation);
  // They tell the machine's own clock or settings from below JavaScript, where nothing can be varied.
  const withheld = /^(?:node:)?(?:sqlite|https?|http2|tls|inspector(?:\/promises)?|trace_events)$/;
  const refuse = (specifier: string): void => {
    if (!withheld.test(specifier)) return;
    const message = `${specifier} is not available in a toolpack: it tells the clock or the settings of the machine`;
    throw Object.assign(new Error(message), { code: 'ERR_WITHHELD' });
  };
  const { getBuiltinModule } = process;
  const { registerHooks } = getBuiltinModule('node:module');
  Object.defineProperty(process, 'getBuiltinModule', {
    value(id: string) {
      refuse(id);
      return getBuiltinModule(id);
    },
  });
  registerHooks({
    resolve(specifier, context, next) {
      refuse(specifier);
      return specifier === 'haft/toolpack'
        ? { url: 'haft:toolpack', format: 'module', shortCircuit: true }
        : next(specifier, context);
    },
    load: (url, context, next) =>
      url === 'haft:toolpack'
        ? { format: 'module', source: options.toolpack, shortCircuit: true }
        : next(url, context),
  });
  const loaded = pieces
    .load(options.entry)
    .then(({ default: given }) => {
      if (given === undefined) throw new Error('the module has no default export');
      return (Array.isArray(given) ? given : [given]) as readonly unknown[];
    })
    .catch((thrown: unknown) => {
      if (!(thrown instanceof SyntaxError) || /^(?:file:\/\/)?\/.*:\d+\n/.test(thrown.stack ?? ''))
        throw thrown;
      // Where it is Node.js says only when a process ends of it.
      return new Promise<never>(() =>
        setImmediate(() => {
          throw thrown;
        }),
      );
    });
  loaded.catch(() => {});

  const find = async (name: string | undefined): Promise<AnyDefinition> => {
    const found = (await loaded).find((one) => (one as AnyDefinition | null)?.toolName === name);
    if (!found) throw new Error(`the module has no tool "${name}"`);
    return found as AnyDefinition;
  };
  const call = (tool: AnyDefinition, method: string, ...args: unknown[]): unknown =>
    (tool[method] as (...args: unknown[]) => unknown).apply(tool, args);
  const schemaOf = (value: unknown): unknown => {
    const standard = (
      value as { '~standard'?: { jsonSchema?: { input(options: object): unknown } } } | null | undefined
    )?.['~standard'];
    if (standard === undefined) return value;
    if (!standard.jsonSchema) throw new Error('its library does not implement Standard JSON Schema');
    return standard.jsonSchema.input({ target: 'draft-2020-12' });
  };
  const describe = (one: unknown): object => {
    if (typeof one !== 'object' || one === null)
      return {
        fields: {},
        functions: [],
        faults: [{ key: '', fact: `it is ${one === null ? 'null' : `a ${typeof one}`}` }],
      };
    const fields: Record<string, unknown> = {};
    const functions: string[] = [];
    const faults: object[] = [];
    for (const [key, given] of Object.entries(one)) {
      if (key === 'canonicalize' || key === 'run') {
        if (typeof given === 'function') functions.push(key);
        continue;
      }
      try {
        const value = key === 'input' || key === 'result' ? schemaOf(given) : given;
        const unsafe = pieces.findUnsafe(value);
        if (unsafe) faults.push({ key, ...unsafe });
        else fields[key] = value;
      } catch (thrown) {
        faults.push({ key, path: '', fact: String((thrown as Error)?.message ?? thrown) });
      }
    }
    return { fields, functions, faults };
  };

  const OPS: Readonly<Record<string, (frame: Frame, ask: Ask) => Promise<unknown>>> = {
    async load() {
      await loaded;
      return null;
    },
    describe: async () => (await loaded).map(describe),
    async canonicalize({ tool: name, input, times = 1 }, ask) {
      const tool = await find(name);
      const { canonicalize: ctx } = pieces.contextOf(ask, {});
      let answer: unknown;
      for (let n = 0; n < times; n++) answer = await call(tool, 'canonicalize', structuredClone(input), ctx);
      return answer;
    },
    async run({ tool: name, input = {}, times = 1 }, ask) {
      const tool = await find(name);
      let answer: unknown;
      for (let n = 0; n < times; n++) {
        const given = { ...structuredClone(input), declaredOutputs: tool.declaredOutputs };
        answer = await call(tool, 'run', pieces.contextOf(ask, given).run);
      }
      return answer;
    },
  };
  const handle = async (frame: Frame): Promise<void> => {
    if (frame.answer !== undefined) {
      const waiter = waiting.get(frame.answer);
      waiting.delete(frame.answer);
      if (frame.ok) waiter?.resolve(frame.value);
      else waiter?.reject(new Error(frame.message));
      return;
    }
    try {
      const value = await OPS[frame.op ?? '']?.(frame, askFor(frame.id ?? 0));
      const unsafe = pieces.findUnsafe(value);
      send(unsafe ? { re: frame.id, ok: false, unsafe } : { re: frame.id, ok: true, value });
    } catch (thrown) {
      const refused = pieces.refusalIn(thrown);
      const message = String((thrown as Error)?.message ?? thrown).slice(0, 2_000);
      const stack = String((thrown as Error)?.stack ?? '').slice(0, 8_000);
      send({ re: frame.id, ok: false, ...(refused ? { refused } : { message, stack }) });
    }
  };

  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) void handle(JSON.parse(line) as Frame);
  });
  process.stdin.on('end', () => process.exit(0));
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
export function refusalIn(thrown: unknown): RefusedArgument | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const { refusedArgument: path, message } = thrown as { refusedArgument?: unknown; message?: unknown };
  if (typeof path !== 'string') return undefined;
  return { path: path.slice(0, 500), fact: String(message).slice(0, 2_000) };
}

/** The first thing that would not be the same after JSON. */
export function findUnsafe(value: unknown): Unsafe | undefined {
  const walk = (one: unknown, path: string, above: readonly unknown[]): Unsafe | undefined => {
    const no = (fact: string): Unsafe => ({ path, fact });
    if (one === null || typeof one === 'string' || typeof one === 'boolean') return undefined;
    if (typeof one === 'number') return Number.isFinite(one) ? undefined : no(`it is ${one}`);
    if (typeof one !== 'object') return no(one === undefined ? 'it is undefined' : `it is a ${typeof one}`);
    if (above.includes(one)) return no('it is a cycle');
    if (above.length > 64) return no('it lies more than 64 levels deep');
    const proto = Object.getPrototypeOf(one) as unknown;
    const isList = Array.isArray(one);
    if (isList ? proto !== Array.prototype : proto !== Object.prototype && proto !== null)
      return no(`it is not a plain ${isList ? 'array' : 'object'}`);
    if (Object.getOwnPropertySymbols(one).length > 0) return no('it has a symbol as a key');
    const keys = isList ? Array.from(one, (_, at) => String(at)) : Object.keys(one);
    if (isList && Object.keys(one).some((key) => !keys.includes(key)))
      return no('it is an array with extra properties');
    for (const key of keys) {
      const at = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      const property = Object.getOwnPropertyDescriptor(one, key);
      if (!property) return { path: at, fact: 'it is a hole in an array' };
      if (property.get ?? property.set) return { path: at, fact: 'it is an accessor' };
      const below = walk(property.value, at, [...above, one]);
      if (below) return below;
    }
    return undefined;
  };
  return walk(value, '', []);
}
