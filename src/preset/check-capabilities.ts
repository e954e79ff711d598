// Owns: holding capabilities of an embedding program to their type, before anything is opened.
// Refuses: to try them; what they do is theirs.
import { isRecord } from '../base/is-record.ts';
import type { Capability } from '../contract/capability.ts';
import { checkFields, type KnownFields } from '../contract/envelope.ts';
import { fail } from '../contract/errors.ts';

const FIELDS: KnownFields<Capability> = {
  name: true,
  handle: true,
  open: true,
  changed: true,
  close: true,
  protects: true,
  view: true,
  locks: true,
};

export function checkCapabilities(given: unknown): void {
  const action = 'create a runtime';
  if (!Array.isArray(given)) throw fail('usage', `Cannot ${action}: capabilities must be a list`);
  for (const [at, one] of given.entries()) {
    const wrong = (what: string) => fail('usage', `Cannot ${action}: capabilities[${at}] ${what}`);
    if (!isRecord(one)) throw wrong('is not an object');
    checkFields(action, one, FIELDS, `fields of capabilities[${at}]`);
    const { name, handle, protects = [], view = {}, ...more } = one;
    if (typeof name !== 'string') throw wrong('has no name');
    if (typeof handle !== 'function') throw wrong('must have a function "handle"');
    if (!Array.isArray(protects) || !protects.every((path) => typeof path === 'string'))
      throw wrong('must have paths in a list as "protects"');
    if (!isRecord(view)) throw wrong('must have an object as "view"');
    for (const [field, value] of Object.entries(more))
      if (value !== undefined && typeof value !== 'function')
        throw wrong(`must have a function as "${field}"`);
  }
}
