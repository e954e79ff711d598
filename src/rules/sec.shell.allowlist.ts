// Owns: the rule sec.shell.allowlist.
// Refuses: a policy of its own: haft.yaml says what is allowed.
import { allowlistRule } from '../contract/rule.ts';

export const rule = allowlistRule('sec.shell.allowlist', ['exec'], {
  category: 'Security / Shell',
  description: 'every command matches the allowlist, and sensitive variables are redacted',
  triggers: ['shell_exec'],
});
