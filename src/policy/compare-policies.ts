// Owns: how one policy file differs from another that it takes the place of, which differences grant more, and what one grants.
// Refuses: to guess: what is not certainly narrower counts as wider. Sessions are combined with the host instead (narrow-policy.ts).
import type { Json } from '../contract/json.ts';
import type { PolicyChange, PolicyFile } from '../contract/policy.ts';
import { SECTIONS } from './sections/index.ts';
import { shown, value } from './values.ts';

/** Section by section. What only rules' examples, spelling or order change is no difference. */
export const comparePolicies = (before: PolicyFile, after: PolicyFile): readonly PolicyChange[] =>
  SECTIONS.flatMap(({ key, written }) => {
    const { changes } = written();
    if (changes) return changes(before[key], after[key]);
    return value(key, before[key] as Json | undefined, after[key] as Json | undefined, () => true);
  });

/** `+` is what was not there, `-` what is gone; what grants more is marked. */
export function describeChange({ key, before, after, widens }: PolicyChange): string {
  const mark = widens ? ' (grants more)' : '';
  if (before === undefined) return `+ ${key}: ${shown(after ?? null)}${mark}`;
  if (after === undefined) return `- ${key}: ${shown(before)}${mark}`;
  return `~ ${key}: ${shown(before)} -> ${shown(after)}${mark}`;
}

/** What reaches furthest first. Empty where it grants nothing beyond the defaults. */
export const describeGrants = (policy: PolicyFile): readonly string[] =>
  SECTIONS.map(({ key, written }) => ({ key, ...written() }))
    .sort((one, other) => (other.reach ?? 0) - (one.reach ?? 0))
    .flatMap(({ key, grants }) => {
      const own = policy[key];
      if (own === undefined) return [];
      return grants ? grants(own) : [`${key}: ${shown(own as Json)}`];
    });
