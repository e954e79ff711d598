// Owns: `haft policy check`: every problem of haft.yaml, with its place and a hint.
// Refuses: to start anything: a bad policy is exactly what it is for.
import { type Diagnostic, formatDiagnostic } from '../../../contract/diagnostic.ts';
import { ERRORS } from '../../../contract/errors.ts';
import type { LoadedPolicy } from '../../../contract/policy.ts';
import { belowOuter } from '../../../preset/adopt-policy.ts';
import { loadPolicy } from '../../../preset/load-policy.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Check haft.yaml',
  usage: '[FILE]',
  description:
    'Reports all problems at once, each with line, column and what to type instead; also runs the examples of its rules, and tells what a start would refuse of its packs. Starts nothing.',
  examples: ['haft policy check', 'haft policy check proposed.yaml --json'],
  positionals: [0, 1],
  async run({ positionals, workspace, io, json }) {
    const own = await loadPolicy(workspace, positionals[0]);
    const { value, diagnostics: said } =
      positionals[0] === undefined ? await belowOuter(workspace, own) : own;
    const packs = own.value ? await packProblems(workspace, own.value, positionals[0]) : [];
    const diagnostics = [...said, ...packs];
    const ok = value !== undefined && packs.length === 0;
    if (json) io.out(`${JSON.stringify({ ok, diagnostics })}\n`);
    else {
      for (const one of diagnostics) io.err(`${formatDiagnostic(one)}\n`);
      if (ok) io.out(`${value.name} is fine\n`);
    }
    return ok ? 0 : ERRORS['policy.invalid'].exit;
  },
};

/** What a start would refuse of its packs. */
async function packProblems(
  workspace: string,
  policy: LoadedPolicy,
  file?: string,
): Promise<readonly Diagnostic[]> {
  if ((policy.file.packs ?? []).length === 0) return [];
  const { checkPacks } = await import('../../../preset/packs/check-packs.ts');
  return checkPacks(workspace, policy, file);
}
