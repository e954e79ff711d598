// Owns: which modules of Node.js a toolpack can have: those whose answers come from their arguments, or are invented.
// Refuses: all others, by name: below JavaScript they read the clock and the machine, which look the same in both worlds.

/** Throws where a toolpack cannot have the module of this specifier or URL. */
export type CheckModule = (specifier: string) => void;

/** Shipped to that process as its own text: it may refer to nothing outside of itself. */
export function withholdModules(): CheckModule {
  type Table = Record<string, unknown>;
  const HAD =
    'assert assert/strict async_hooks buffer console constants crypto diagnostics_channel events fs fs/promises module os path path/posix path/win32 process punycode querystring readline readline/promises stream stream/consumers stream/promises stream/web string_decoder sys timers timers/promises tty url util util/types zlib';
  const names = HAD.split(' ');
  const listed = names.join(', ');
  const allowed = Object.create(null) as Record<string, true>;
  for (const name of names) allowed[name] = true;
  const real = process.getBuiltinModule.bind(process);
  const nodeModule = real('node:module') as unknown as Table;
  const isBuiltin = nodeModule.isBuiltin as (name: string) => boolean;
  const RealError = Error;
  const refuse = (message: string): never => {
    const error = new RealError(message) as NodeJS.ErrnoException;
    error.code = 'ERR_WITHHELD';
    throw error;
  };
  const PREFIX = 'node:';
  const check: CheckModule = (specifier) => {
    if (!isBuiltin(specifier)) return;
    let name = '';
    let isPrefixed = true;
    for (let at = 0; at < specifier.length; at++) {
      if (at < PREFIX.length && specifier[at] !== PREFIX[at]) isPrefixed = false;
      if (at >= PREFIX.length) name += specifier[at];
    }
    if (!isPrefixed) name = specifier;
    if (!allowed[name])
      refuse(
        `Cannot use "node:${name}" in a toolpack: it is withheld, since it reaches the clock, the machine or other processes in ways that look the same everywhere. A toolpack can use ${listed}`,
      );
  };
  const put = (target: object, values: Table): void => {
    for (const [key, value] of Object.entries(values))
      Object.defineProperty(target, key, { value, configurable: true, enumerable: true, writable: true });
  };
  put(process, {
    getBuiltinModule(id: unknown) {
      const name = `${id as string}`;
      check(name);
      return real(name);
    },
  });
  for (const key of ['register', 'registerHooks', 'enableCompileCache', 'getCompileCacheDir', 'runMain'])
    put(nodeModule, {
      [key]: () => refuse(`Cannot use module.${key} in a toolpack: it would change how modules are found`),
    });
  put(nodeModule, { builtinModules: Object.freeze(names) });
  return check;
}
