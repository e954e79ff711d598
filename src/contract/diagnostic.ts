// Owns: how a loader reports a problem in a file that a person wrote.
// Refuses: problems of calls; those are errors.

/** Loaders report all diagnostics at once. Lines and columns count from 1. */
export interface Diagnostic {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** A dotted word, such as `key.unknown` or `yaml.escape`. */
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** What to type instead, where that is known. */
  readonly hint?: string;
}

/** `haft.yaml:3:7: error key.unknown: …` and the hint below it. */
export function formatDiagnostic(d: Diagnostic): string {
  const head = `${d.file}:${d.line}:${d.column}: ${d.severity} ${d.code}: ${d.message}`;
  return d.hint ? `${head}\n  hint: ${d.hint}` : head;
}

/** A text of a file as diagnostics show it. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 59).toWellFormed()}…` : text.toWellFormed());
