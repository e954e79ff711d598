// Owns: `haft doctor`: is everything here that Haft needs, proven by trying it?
// Refuses: to repair anything; each failed check says what to type.
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
      for (const { state, name, evidence, fix } of findings) {
        io.out(`${MARKS[state]} ${name}: ${evidence}\n${fix && state !== 'ok' ? `    ${fix}\n` : ''}`);
      }
      io.out(
        failed.length === 0
          ? 'Everything that Haft needs is here.\n'
          : `${failed.length} of ${findings.length} checks failed.\n`,
      );
    }
    return failed.length === 0 ? 0 : 1;
  },
};

const MARKS = { ok: 'ok    ', weaker: 'weaker', failed: 'FAILED' } as const;
