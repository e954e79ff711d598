// Owns: what is wrong with a template, and where.
// Refuses: to show what a template was filled with: a message names parts of the template only.

/** An `Error` whose message says the fact, with the line that it is about (from 1). */
export type TemplateFault = Error & { readonly templateLine: number };

export function templateFault(message: string, line: number): TemplateFault {
  return Object.assign(new Error(message), { templateLine: line });
}

export const isTemplateFault = (thrown: unknown): thrown is TemplateFault =>
  thrown instanceof Error && 'templateLine' in thrown;
