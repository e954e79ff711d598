// Owns: the check that a program only named fields that there are: a field that nobody reads is a wish that nobody grants.
// Refuses: to look at values; whoever reads a field knows what it takes.

import { closest } from '../base/closest.ts';
import { isRecord } from '../base/is-record.ts';
import { fail } from './errors.ts';

/** Every field of T, also those that may be left out: the compiler says where one is missing. */
export type KnownFields<T> = { readonly [K in keyof T]-?: true };

/** In words, the first field that is not known; undefined where all are. */
export function unknownField(given: object, known: { readonly [field: string]: true }): string | undefined {
  for (const field of Object.keys(given)) {
    if (known[field] === true) continue;
    const names = Object.keys(known);
    const near = closest(field, names);
    return `no field "${field.slice(0, 80)}"; ${near ? `did you mean "${near}"?` : `there is ${names.join(', ')}`}`;
  }
  return undefined;
}

/** For a program's own mistakes: throws `usage`. `action` says what cannot be done. */
export function checkFields(
  action: string,
  given: unknown,
  known: { readonly [field: string]: true },
  what = 'options',
): void {
  if (given === undefined) return;
  if (!isRecord(given)) throw fail('usage', `Cannot ${action}: the ${what} are not an object`);
  const unknown = unknownField(given, known);
  if (unknown !== undefined) throw fail('usage', `Cannot ${action}: the ${what} have ${unknown}`);
}
