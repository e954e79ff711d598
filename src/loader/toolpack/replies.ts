// Owns: answering what a toolpack's process asks from a table of questions, and how much it is shown at once.
// Refuses: questions that nobody knows.
import { fail } from '../../contract/errors.ts';

export type Replies<T> = {
  readonly [method: string]: (params: readonly unknown[], given: T) => Promise<unknown>;
};

export async function answerFrom<T>(
  table: Replies<T>,
  method: string,
  params: readonly unknown[],
  given: T,
): Promise<unknown> {
  const found = Object.hasOwn(table, method) ? table[method] : undefined;
  if (found === undefined)
    throw fail('toolpack.abi', `Cannot answer "${method.slice(0, 80)}": there is no such question`);
  return found(params, given);
}

const READ_MOST = 8 * 1024 * 1024;

export const readAmount = (given: unknown, usual: number): number =>
  typeof given === 'number' && given > 0 ? Math.min(given, READ_MOST) : usual;
