// Owns: telling an object with fields from everything else that JSON and callers bring.
// Refuses: to look at the fields.

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
