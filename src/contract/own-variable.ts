// Owns: which variables of the environment are Haft's own: its key, its tokens, how it runs.
// Refuses: to hand one of them to a tool, whoever asks.

export const OWN_VARIABLE = /^HAFT_/;

/** The variables of that name that may be passed on, where they are set. */
export function passedVariables(
  names: readonly string[],
  host: { readonly [name: string]: string | undefined },
): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of names) {
    const value = OWN_VARIABLE.test(name) ? undefined : host[name];
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}
