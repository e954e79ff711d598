// Owns: what a check found wrong in a value, before anybody asked where in the text that is.
// Refuses: to look for the place before it is needed: finding it is dear, and nearly every file is fine.
import { type Located, placeOf } from './located.ts';
import type { Report } from './report.ts';
import type { Way } from './way.ts';

export interface Problem {
  readonly code: string;
  readonly way: Way | undefined;
  /** Whether it is about the key or about what the key holds. */
  readonly of: 'key' | 'value';
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint: string | undefined;
}

export type Tell = (problem: Problem) => void;

export interface Teller {
  /** How many errors were told so far. */
  readonly errors: number;
  error(code: string, way: Way | undefined, message: string, hint?: string): void;
  warn(code: string, way: Way | undefined, message: string, hint?: string): void;
  /** About the key at the end of the way. */
  key(code: string, way: Way | undefined, message: string, hint?: string): void;
  warnKey(code: string, way: Way | undefined, message: string, hint?: string): void;
}

export function createTeller(tell: Tell): Teller {
  let errors = 0;
  const teller =
    (severity: Problem['severity'], of: Problem['of']) =>
    (code: string, way: Way | undefined, message: string, hint?: string): void => {
      if (severity === 'error') errors++;
      tell({ code, way, of, severity, message, hint });
    };
  return {
    get errors() {
      return errors;
    },
    error: teller('error', 'value'),
    warn: teller('warning', 'value'),
    key: teller('error', 'key'),
    warnKey: teller('warning', 'key'),
  };
}

/** Puts problems into a report, each at its place in the text that was parsed into `located`. */
export function reportProblem(report: Report, located: Located, problem: Problem): void {
  const { code, way, of, severity, message, hint } = problem;
  const add = severity === 'error' ? report.error : report.warn;
  add(code, placeOf(located, way, of), message, hint);
}
