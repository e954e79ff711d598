// Owns: the rules that `validators` names: known, built into this version, and never lowered where they guard.
// Refuses: running them.
import { closest } from '../../base/closest.ts';
import { ENFORCED_BY_POLICY, RULE_CATALOGUE } from '../../contract/rule.ts';
import { quoted } from '../yaml/located.ts';
import type { Draft, DraftSite } from './draft.ts';

/** Without `available` nothing is said about what is built in. */
export function checkValidators(
  draft: Draft,
  available: readonly string[] | undefined,
  site: DraftSite,
): void {
  const known = new Set<string>([...RULE_CATALOGUE, ...(available ?? [])]);
  const seen = new Map<string, string>();
  for (const [at, setting] of (draft.validators ?? []).entries()) {
    const { rule, enforcement } = setting ?? {};
    if (rule === undefined) continue;
    const path = `validators[${at}]`;
    const place = site.place(`${path}.rule`);
    if (!known.has(rule)) {
      const meant = closest(rule, known);
      const message = `${path}: there is no rule ${quoted(rule)}`;
      site.report.error('rule.unknown', place, message, meant && `did you mean ${meant}?`);
      continue;
    }
    const first = seen.get(rule);
    if (first) site.report.error('rule.duplicate', place, `${path}: ${rule} is already set by ${first}`);
    seen.set(rule, path);
    if (rule.startsWith('sec.') && enforcement !== undefined && enforcement !== 'blocking') {
      const message = `${path}: ${rule} guards the workspace and is always blocking; it cannot be ${enforcement}`;
      site.report.error('rule.lowered', site.place(`${path}.enforcement`), message, 'enforcement: blocking');
      continue;
    }
    if (!available || available.includes(rule)) continue;
    const enforced = ENFORCED_BY_POLICY[rule];
    if (enforced !== undefined) {
      const message = `${path}: ${rule} has no effect here, because it always holds: ${enforced}`;
      site.report.warn('key.no_effect', site.place(path), message, 'remove it');
      continue;
    }
    if (enforcement === 'blocking') {
      const message = `${path}: ${rule} is not built into this version, so nothing would block`;
      site.report.error('rule.unavailable', place, message, 'remove it, or set it to warning');
    } else {
      site.report.warn(
        'rule.unavailable',
        place,
        `${path}: ${rule} is not built into this version, so it has no effect`,
      );
    }
  }
}
