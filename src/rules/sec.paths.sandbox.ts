// Owns: the rule sec.paths.sandbox.
// Refuses: a policy of its own: haft.yaml says what is allowed.
import { allowlistRule } from '../contract/rule.ts';

export const rule = allowlistRule('sec.paths.sandbox', ['fs.read', 'fs.write'], {
  category: 'Security / FS',
  description: 'every path lies below the workspace root',
  triggers: ['fs_*', 'file_*', 'grep', 'undo', 'shell_exec'],
});
