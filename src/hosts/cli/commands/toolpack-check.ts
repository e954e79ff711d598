// Owns: `haft toolpack check`: a toolpack held to the ABI and to its own calls.
// Refuses: to touch the workspace: the pack is tried in one of its own, and only images are held to this one's policy.
import { resolve } from 'node:path';
import { formatDiagnostic } from '../../../contract/diagnostic.ts';
import { ERRORS } from '../../../contract/errors.ts';
import { checkToolpack } from '../../../preset/check-toolpack.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Check a toolpack against the ABI and its own calls',
  usage: 'DIR',
  description:
    'Loads it in two environments, makes each call of calls/*.json, executes it twice in the sandbox of this machine, and compares. ' +
    'Then looks whether haft.yaml of this workspace lets its images run, and whether they can be pinned.',
  options: { 'no-images': { type: 'boolean', help: 'leave images alone, where there is no engine to ask' } },
  examples: ['haft toolpack check ./my_tool', 'haft toolpack check ./my_tool --json'],
  positionals: [1, 1],
  async run({ positionals, workspace, flags, io, json }) {
    const given = positionals[0]!;
    const found = await checkToolpack(resolve(given), flags['no-images'] === true ? null : workspace);
    const diagnostics = found.diagnostics.map((one) => ({ ...one, file: fileIn(given, one.file) }));
    const report = { ...found, diagnostics };
    if (json) io.out(`${JSON.stringify(report)}\n`);
    else {
      for (const one of report.diagnostics) io.err(`${formatDiagnostic(one)}\n`);
      for (const { name, ok, message } of report.cases)
        io.out(
          `${ok ? 'ok    ' : 'FAILED'} ${name}${message === undefined ? '' : `\n       ${message.replaceAll('\n', '\n       ')}`}\n`,
        );
      if (report.ok) io.out(`${report.tools.join(', ')}: fine\n`);
    }
    return report.ok ? 0 : ERRORS['pack.invalid'].exit;
  },
};

/** As the folder was given, so that a terminal can open it. */
const fileIn = (folder: string, file: string): string => {
  const label = folder.replace(/(?<=.)\/+$/, '');
  if (file === '') return label;
  return label === '.' ? file : `${label}/${file}`;
};
