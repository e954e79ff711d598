import type { RuleSubject } from '../../src/contract/rule.ts';
import { ruleSuite } from '../../src/testing/rule-suite.ts';
import { rule } from './code.no.merge_markers.ts';

/** A call that wrote this text. */
function wrote(text: string): RuleSubject {
  const bytes = new TextEncoder().encode(text);
  const path = 'a.txt';
  return {
    tool: 'file_write',
    args: { path },
    effects: [{ kind: 'fs.write', path }],
    allows: () => true,
    changes: [
      {
        path,
        before: null,
        after: { type: 'file', object: 'sha256:', size: bytes.length, mode: 0o644 },
        stored: true,
      },
    ],
    files: {
      read: () => ({ bytes, size: bytes.length, mode: 0o644, path }),
      stat: () => undefined,
      list: async () => ({ files: [], truncated: false }),
    },
    signal: new AbortController().signal,
  };
}

ruleSuite(
  async () => ({
    rule,
    violating: [wrote('<<<<<<< HEAD\na\n'), wrote('a\n>>>>>>> branch\n')],
    clean: [wrote(''), wrote('a << b\n'), wrote('  <<<<<<< quoted\n')],
    close: async () => {},
  }),
  rule.id,
);
