// Owns: an object of asynchronous methods whose code is loaded by the first call of one of them.
// Refuses: methods that answer at once.
import { once } from './once.ts';

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
