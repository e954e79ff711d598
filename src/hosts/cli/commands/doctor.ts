// Owns: `haft doctor`: is everything here that Haft needs, proven by trying it?
// Refuses: to repair anything; each failed check says what to type.

import type { Finding } from '../../../contract/operation-handles.ts';
import { diagnose } from '../../../preset/diagnose.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Check this machine and workspace, by trying',
  usage: '',
  examples: ['haft doctor', 'haft doctor --json'],
  positionals: [0, 0],
  async run({ workspace, io, json }) {
    const findings = await diagnose(workspace);
    const failed = findings.filter((one) => one.state === 'failed');
    if (json) io.out(`${JSON.stringify({ ok: failed.length === 0, findings })}\n`);
    else {
      const said = new Set<string>();
      for (const finding of findings) io.out(describe(finding, said));
      io.out(
        failed.length === 0
          ? 'Everything that Haft needs is here.\n'
          : `${failed.length} of ${findings.length} checks failed.\n`,
      );
    }
    return failed.length === 0 ? 0 : 1;
  },
};

const MARKS = { ok: 'ok    ', weaker: 'weaker', absent: 'absent', failed: 'FAILED' } as const;

/** Details below their check, and each of them once: a bad policy is why the state cannot be opened, too. */
function describe({ state, name, evidence, fix }: Finding, said: Set<string>): string {
  const [fact = '', ...details] = evidence
    .replace(/ \[[a-z._]+\]$/, '')
    .split('\n')
    .map((line) => line.trim());
  const fresh = details.filter((line) => !said.has(line));
  for (const line of details) said.add(line);
  const below = [...fresh, ...(fix && state !== 'ok' ? [fix] : [])].map((line) => `         ${line}\n`);
  return `${MARKS[state]}  ${name}: ${fact}\n${below.join('')}`;
}
