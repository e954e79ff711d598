// Owns: `validators`: the rules that look at what calls change: known, built into this version, never lowered where they guard.
// Not here: running them (runtime/validate.ts).
import { closest } from '../../base/closest.ts';
import { quoted } from '../../contract/diagnostic.ts';
import { ENFORCED_BY_POLICY, RULE_CATALOGUE } from '../../contract/rule.ts';
import type { Draft, DraftSite, Section } from '../section.ts';
import { choice, list, map, text } from '../shapes.ts';
import { asSet, lists, none, nothing, WEIGHT } from '../values.ts';

export const validators = {
  key: 'validators',
  written: () => ({
    shape: list(
      map(
        'A rule and how strictly it is taken.',
        {
          rule: text('name', 'The id of a rule. Rules that begin with `sec.` are always blocking.'),
          enforcement: choice(
            ['blocking', 'warning', 'suggestion'],
            'Whether a violation stops the call or is only told.',
          ),
        },
        { required: ['rule', 'enforcement'] },
      ),
      'Rules that look at what calls change.',
    ),
    widening: (host, session) =>
      session.flatMap(({ rule, enforcement }, at) => {
        const own = host?.find((setting) => setting.rule === rule);
        return own && WEIGHT[enforcement] < WEIGHT[own.enforcement] ? [`[${at}]`] : [];
      }),
    changes: (old = [], now = []) =>
      lists('validators', old, now, {
        added: () => false,
        removed: (gone) =>
          !now.some(
            ({ rule, enforcement }) => rule === gone.rule && WEIGHT[enforcement] >= WEIGHT[gone.enforcement],
          ),
      }),
    grants: none,
    below(own = [], inner = []) {
      const stricter = own.filter(({ rule, enforcement }) => {
        const theirs = inner.find((one) => one.rule === rule);
        return !theirs || WEIGHT[enforcement] > WEIGHT[theirs.enforcement];
      });
      return stricter.length > 0 ? stricter : undefined;
    },
  }),
  checkBuild: checkValidators,
  meaning: (own = []) => asSet(own.map(({ rule, enforcement }) => [rule, enforcement])),
  project: nothing,
  /** Those of the host, then what the session adds; a session cannot lower one, so its word holds. */
  narrow(host = [], session) {
    const byRule = new Map(host.map((setting) => [setting.rule, setting]));
    for (const setting of session) byRule.set(setting.rule, setting);
    return [...byRule.values()];
  },
} satisfies Section<'validators'>;

/** Without `available` nothing is said about what is built in. */
function checkValidators(draft: Draft, available: readonly string[] | undefined, site: DraftSite): void {
  const known = new Set<string>([...RULE_CATALOGUE, ...(available ?? [])]);
  const seen = new Map<string, string>();
  for (const [at, setting] of (draft.validators ?? []).entries()) {
    const { rule, enforcement } = setting ?? {};
    if (rule === undefined) continue;
    const path = `validators[${at}]`;
    const place = `${path}.rule`;
    if (!known.has(rule)) {
      const meant = closest(rule, known);
      const message = `${path}: there is no rule ${quoted(rule)}`;
      site.error('rule.unknown', place, message, meant && `did you mean ${meant}?`);
      continue;
    }
    const first = seen.get(rule);
    if (first) site.error('rule.duplicate', place, `${path}: ${rule} is already set by ${first}`);
    seen.set(rule, path);
    if (rule.startsWith('sec.') && enforcement !== undefined && enforcement !== 'blocking') {
      const message = `${path}: ${rule} guards the workspace and is always blocking; it cannot be ${enforcement}`;
      site.error('rule.lowered', `${path}.enforcement`, message, 'enforcement: blocking');
      continue;
    }
    if (!available || available.includes(rule)) continue;
    const enforced = ENFORCED_BY_POLICY[rule];
    if (enforced !== undefined) {
      const message = `${path}: ${rule} has no effect here, because it always holds: ${enforced}`;
      site.warn('key.no_effect', path, message, 'remove it');
    } else if (enforcement === 'blocking') {
      const message = `${path}: ${rule} is not built into this version, so nothing would block`;
      site.error('rule.unavailable', place, message, 'remove it, or set it to warning');
    } else {
      const message = `${path}: ${rule} is not built into this version, so it has no effect`;
      site.warn('rule.unavailable', place, message);
    }
  }
}
