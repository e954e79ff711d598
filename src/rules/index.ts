// Owns: the list of rules that are built in; a new rule is one line here.
// Refuses: rules of the catalogue that nobody has built: one of those, set to blocking, refuses start-up.
import type { RuleDefinition } from '../contract/rule.ts';

export const RULES: readonly RuleDefinition[] = Object.freeze([]);
