// Owns: making something when it is first asked for, and the same from then on.
// Refuses: to make it again, also where making failed.

export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
