// Owns: all cases of rules.test.ts.
// Refuses: checking them.
import { EXECUTION_RULES } from './execution-rules-for-tests.ts';
import { KEY_RULES } from './key-rules-for-tests.ts';
import { NEED_RULES } from './need-rules-for-tests.ts';
import type { Rules } from './rule-for-tests.ts';

export const RULES: Rules = { ...KEY_RULES, ...EXECUTION_RULES, ...NEED_RULES };
