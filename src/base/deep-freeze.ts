// Owns: values that nobody can change any more, however deep.
// Refuses: anything but trees of plain JSON.

/** The same value, frozen with everything in it. Written for thousands of values: it makes no lists on its way. */
export function deepFreeze<T>(value: T): T {
  for (const key in value) {
    const inner = value[key];
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
