// Owns: `haft tools check`: every problem of every manifest in a pack, with its place and a hint.
// Refuses: to install or run anything: a bad pack is exactly what it is for.
import { formatDiagnostic } from '../../../contract/diagnostic.ts';
import { ERRORS } from '../../../contract/errors.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Check a folder of *.tool.yaml files',
  usage: 'DIR…',
  description:
    'Reports all problems of all files at once, each with line, column and what to type instead. Several folders are checked together: no two tools may have the same id.',
  examples: ['haft tools check packs', 'haft tools check packs more-packs --json'],
  positionals: [1, 100],
  async run({ positionals, io, json, workspace }) {
    const { ToolpackLoader } = await import('../../../loader/tool-yaml/toolpack-loader.ts');
    const loader = new ToolpackLoader({ quarantine: true });
    const labels = new Map<string, string>();
    for (const dir of positionals) labels.set((await loader.loadDir(dir, labelOf(dir))).folder, labelOf(dir));
    const { checkReplay } = await import('../../../loader/code/check-replay.ts');
    const replay = await checkReplay(loader.list(), workspace, ({ source: { folder, file } }) => {
      const label = labels.get(folder);
      return label ? `${label}/${file}` : file;
    });
    const diagnostics = [...loader.diagnostics, ...replay];
    const ok = !diagnostics.some(({ severity }) => severity === 'error');
    const tools = loader.ids();
    if (json) io.out(`${JSON.stringify({ ok, tools, diagnostics })}\n`);
    else {
      for (const one of diagnostics) io.err(`${formatDiagnostic(one)}\n`);
      if (ok) io.out(`${tools.length} ${tools.length === 1 ? 'tool is' : 'tools are'} fine\n`);
    }
    return ok ? 0 : ERRORS['pack.invalid'].exit;
  },
};

/** Names in diagnostics begin with the folder as it was given, so that a terminal can open them. */
const labelOf = (dir: string): string => (/^\.?\/*$/.test(dir) ? '' : dir.replace(/\/+$/, ''));
