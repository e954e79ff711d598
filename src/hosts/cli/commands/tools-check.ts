// Owns: `haft tools check`: every problem of every manifest in a pack, with its place and a hint.
// Refuses: to install or run anything: a bad pack is exactly what it is for.
import { resolve } from 'node:path';
import { type Diagnostic, formatDiagnostic } from '../../../contract/diagnostic.ts';
import { ERRORS } from '../../../contract/errors.ts';
import type { YamlTool } from '../../../contract/yaml-tool.ts';
import { isWithin } from '../../../loader/is-within.ts';
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
    const empty: Diagnostic[] = [];
    let manifests = 0;
    for (const dir of positionals) {
      const report = await loader.loadDir(dir, { label: labelOf(dir), root: rootOf(dir, workspace) });
      labels.set(report.folder, labelOf(dir));
      manifests += report.manifests;
      if (report.manifests === 0 && report.diagnostics.length === 0) empty.push(await nothingIn(dir));
    }
    const { checkReplay } = await import('../../../loader/code/check-replay.ts');
    const { checkWrites } = await import('../../../loader/code/check-writes.ts');
    const fileOf = ({ source: { folder, file } }: YamlTool) => {
      const label = labels.get(folder);
      return label ? `${label}/${file}` : file;
    };
    const replay = await checkReplay(loader.list(), workspace, fileOf);
    const diagnostics = [
      ...loader.diagnostics,
      ...empty,
      ...replay,
      ...(await checkWrites(loader.list(), fileOf)),
    ];
    const ok = !diagnostics.some(({ severity }) => severity === 'error');
    const tools = loader.ids();
    if (json) io.out(`${JSON.stringify({ ok, tools, diagnostics })}\n`);
    else {
      for (const one of diagnostics) io.err(`${formatDiagnostic(one)}\n`);
      io.out(`${summary(manifests, diagnostics)}\n`);
    }
    return ok ? 0 : ERRORS['pack.invalid'].exit;
  },
};

/** Whoever checks a folder expects something to be in it. */
async function nothingIn(dir: string): Promise<Diagnostic> {
  const { isToolpackFolder } = await import('../../../loader/toolpack/pack-files.ts');
  const place = { file: labelOf(dir) || '.', line: 1, column: 1, severity: 'error' } as const;
  if (isToolpackFolder(dir))
    return {
      ...place,
      code: 'pack.toolpack',
      message: 'It is a toolpack, not a folder of *.tool.yaml files',
      hint: `haft toolpack check ${dir}`,
    };
  return { ...place, code: 'pack.empty', message: 'There is no *.tool.yaml file in it' };
}

function summary(manifests: number, diagnostics: readonly Diagnostic[]): string {
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  const problems = diagnostics.filter(({ severity }) => severity === 'error').length;
  const warnings = diagnostics.length - problems;
  if (diagnostics.length === 0) return `${manifests} ${manifests === 1 ? 'tool is' : 'tools are'} fine`;
  return [
    count(manifests, 'tool'),
    ...(problems > 0 ? [count(problems, 'problem')] : []),
    ...(warnings > 0 ? [count(warnings, 'warning')] : []),
  ].join(', ');
}

/** Schemas may lie beside a pack of the workspace, as they may when haft.yaml names it. */
const rootOf = (dir: string, workspace: string): string =>
  isWithin(resolve(dir), workspace) ? workspace : dir;

/** Names in diagnostics begin with the folder as it was given, so that a terminal can open them. */
const labelOf = (dir: string): string => (/^\.?\/*$/.test(dir) ? '' : dir.replace(/\/+$/, ''));
