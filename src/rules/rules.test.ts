import type { Effect } from '../contract/effect.ts';
import type { RuleSubject } from '../contract/rule.ts';
import { ruleSuite } from '../testing/rule-suite.ts';
import { RULES } from './index.ts';

const EFFECTS: Readonly<Record<string, Effect>> = {
  'sec.network.allowlist': { kind: 'net.connect', scheme: 'https', host: 'example.org', port: 443 },
  'sec.paths.sandbox': { kind: 'fs.write', path: 'secret/key' },
  'sec.shell.allowlist': { kind: 'exec', command: 'cargo test' },
};

const subject = (effect: Effect, allowed: boolean): RuleSubject => ({
  tool: 'shell_exec',
  args: {},
  effects: [effect, { kind: 'proc.list' }],
  allows: (one) => one.kind === 'proc.list' || allowed,
  changes: [],
  files: {} as RuleSubject['files'],
  signal: new AbortController().signal,
});

for (const rule of RULES) {
  const effect = EFFECTS[rule.id]!;
  ruleSuite(
    async () => ({
      rule,
      violating: [subject(effect, false)],
      clean: [subject(effect, true)],
      close: async () => {},
    }),
    rule.id,
  );
}
