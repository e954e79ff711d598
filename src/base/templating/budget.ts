// Owns: how much a template may do: one sum for steps and for the text and lists that it makes, so that time and memory are bounded.
// Refuses: clocks: the same template with the same values ends the same way on every machine.
import { templateFault } from './template-fault.ts';

export interface TemplateLimits {
  /** Characters of the result. */
  readonly maxOutput: number;
  /** Steps: one for each part that is evaluated, and one for every few characters or items that it makes. */
  readonly maxSteps: number;
}

/** A hundredth of a second or so. */
export const USUAL_LIMITS: TemplateLimits = { maxOutput: 1024 * 1024, maxSteps: 200_000 };

/** One text, or all items of one list: no step makes more. */
const MAX_SIZE = 4 * 1024 * 1024;
const SIZE_PER_STEP = 16;

export interface Budget {
  step(line: number): void;
  /** To be asked before something of this size is made. */
  make(size: number, line: number): void;
}

export function createBudget({ maxSteps }: TemplateLimits): Budget {
  let left = maxSteps;
  const spend = (steps: number, line: number) => {
    left -= steps;
    if (left < 0) throw templateFault('the template does too much', line);
  };
  return {
    step: (line) => spend(1, line),
    make(size, line) {
      if (!(size <= MAX_SIZE)) throw templateFault('the template makes something too large', line);
      spend(1 + size / SIZE_PER_STEP, line);
    },
  };
}
