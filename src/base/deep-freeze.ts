// Owns: values that nobody can change any more, however deep.
// Refuses: anything but trees of plain JSON.

/** The same value, frozen with everything in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
