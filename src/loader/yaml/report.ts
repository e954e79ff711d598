// Owns: collecting diagnostics, in the order of the file and never without end.
// Refuses: stopping at the first problem.
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { Place } from './located.ts';

const MAX_DIAGNOSTICS = 100;

export interface Report {
  error(code: string, at: Place, message: string, hint?: string): void;
  warn(code: string, at: Place, message: string, hint?: string): void;
  readonly failed: boolean;
  /** By line and column; after a hundred, one that counts the rest. */
  diagnostics(): readonly Diagnostic[];
}

export function createReport(file: string): Report {
  const found: Diagnostic[] = [];
  const add =
    (severity: Diagnostic['severity']) =>
    (code: string, at: Place, message: string, hint?: string): void => {
      const { line, column } = at;
      found.push({ file, line, column, code, severity, message, ...(hint ? { hint } : {}) });
    };
  return {
    error: add('error'),
    warn: add('warning'),
    get failed() {
      return found.some((one) => one.severity === 'error');
    },
    diagnostics() {
      const sorted = found.toSorted((a, b) => a.line - b.line || a.column - b.column);
      const rest = sorted.length - MAX_DIAGNOSTICS;
      if (rest <= 0) return sorted;
      const { line, column } = sorted[MAX_DIAGNOSTICS] as Diagnostic;
      const severity = sorted.slice(MAX_DIAGNOSTICS).some((one) => one.severity === 'error')
        ? 'error'
        : 'warning';
      const message = `${rest} more problems are not shown`;
      return [
        ...sorted.slice(0, MAX_DIAGNOSTICS),
        { file, line, column, code: 'file.more', severity, message },
      ];
    },
  };
}
