// Owns: flags that take a whole number.
// Refuses: anything else, with the flag's name.
import { fail } from '../../contract/errors.ts';
import type { Invocation } from './command.ts';

export function wholeNumber(name: string, given: Invocation['flags'][string], usual: number): number {
  const value = Number(given ?? usual);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw fail('usage', `Cannot use --${name} ${String(given)}: it takes a whole number from 1 on`);
  }
  return value;
}
