// Owns: `haft policy check`: every problem of haft.yaml, with its place and a hint.
// Refuses: to start anything: a bad policy is exactly what it is for.
import { formatDiagnostic } from '../../../contract/diagnostic.ts';
import { ERRORS } from '../../../contract/errors.ts';
import { belowOuter } from '../../../preset/adopt-policy.ts';
import { loadPolicy } from '../../../preset/load-policy.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Check haft.yaml',
  usage: '[FILE]',
  description:
    'Reports all problems at once, each with line, column and what to type instead; also runs the examples of its rules.',
  examples: ['haft policy check', 'haft policy check proposed.yaml --json'],
  positionals: [0, 1],
  async run({ positionals, workspace, io, json }) {
    const own = await loadPolicy(workspace, positionals[0]);
    const { value, diagnostics } = positionals[0] === undefined ? await belowOuter(workspace, own) : own;
    const ok = value !== undefined;
    if (json) io.out(`${JSON.stringify({ ok, diagnostics })}\n`);
    else {
      for (const one of diagnostics) io.err(`${formatDiagnostic(one)}\n`);
      if (ok) io.out(`${value.name} is fine\n`);
    }
    return ok ? 0 : ERRORS['policy.invalid'].exit;
  },
};
