// Owns: the rule sec.network.allowlist.
// Refuses: a policy of its own: haft.yaml says what is allowed.
import { allowlistRule } from '../contract/rule.ts';

export const rule = allowlistRule('sec.network.allowlist', ['net.connect'], {
  category: 'Security / Network',
  description: 'the host is on the allowlist, and there are at most three redirects',
  triggers: ['curl', 'shell_exec'],
});
