// Owns: making something when it is first asked for, and the same from then on; also an object whose code is loaded by the first call.
// Refuses: to make it again, also where making failed.

export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

type Methods<T> = { readonly [K in keyof T]: (...args: never[]) => Promise<unknown> };

/** Calls arrive in the order in which they were made, also those that were made before it was loaded. */
export function lazyMethods<T extends Methods<T>>(
  names: { readonly [K in keyof T]-?: true },
  load: () => Promise<T>,
): T {
  const loaded = once(load);
  const method =
    (name: keyof T) =>
    async (...args: never[]) =>
      (await loaded())[name](...args);
  return Object.fromEntries(Object.keys(names).map((name) => [name, method(name as keyof T)])) as T;
}

/** An object that looks like what `make` makes, frozen, and is made by the first look at it. */
export function lazyTable<T extends object>(make: () => T): T {
  let made: T | undefined;
  const fill = (table: object) => {
    made ??= Object.freeze(Object.assign(table, make())) as T;
    return made;
  };
  return new Proxy({} as T, {
    get: (table, key) => Reflect.get(fill(table), key),
    has: (table, key) => Reflect.has(fill(table), key),
    ownKeys: (table) => Reflect.ownKeys(fill(table)),
    getOwnPropertyDescriptor: (table, key) => Reflect.getOwnPropertyDescriptor(fill(table), key),
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  });
}
