// Owns: the list of rules that are built in; a new rule is one line here.
// Refuses: rules of the catalogue that nobody has built: one of those, set to blocking, refuses start-up.
import type { RuleDefinition } from '../contract/rule.ts';
import { rule as network } from './sec.network.allowlist.ts';
import { rule as paths } from './sec.paths.sandbox.ts';
import { rule as shell } from './sec.shell.allowlist.ts';

export const RULES: readonly RuleDefinition[] = Object.freeze([network, paths, shell]);
