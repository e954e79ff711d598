// Owns: which program runs a tool of a `*.tool.yaml`, with which arguments, and what it is told.
// Refuses: a shell, and anything of the machine that `caps` and `env` do not name.
import { posix } from 'node:path';
import { quoteCommandWord, shellQuote } from '../../base/shell/shell-quote.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Program, ProgramNeeds } from '../../contract/program.ts';
import type { YamlExecution, YamlKind, YamlModule, YamlTool } from '../../contract/yaml-tool.ts';
import type { Filling } from '../yaml-filling.ts';
import type { YamlUse } from '../yaml-use.ts';
import { NODE_RUNNER } from './node-runner.ts';
import { PYTHON_RUNNER } from './python-runner.ts';

export interface ToolProgram {
  readonly program: Program;
  /** What it reads: one JSON line. */
  readonly frame: JsonObject;
  /** Whether one that is kept can serve: it speaks the runners' frames. */
  readonly warm: boolean;
}

export interface ToolProgramOptions {
  readonly use: YamlUse;
  readonly filling: Filling;
  /** Without secrets: for what policy decides and the audit keeps. */
  readonly masked: Filling;
  readonly input: unknown;
  readonly config: JsonObject;
  /** Where the copy of the pack's folder lies that is to be run. Absent: the folder itself is. */
  readonly copy?: string | undefined;
}

export function toolProgram(options: ToolProgramOptions): ToolProgram {
  const { use, filling, input, config, copy } = options;
  const { tool, action, execution } = use;
  const run = (PROGRAMS[execution.kind] as Rule)(execution as never, options);
  const told: JsonObject = {
    input: input as never,
    ...(action === undefined ? {} : { action }),
    ...(Object.keys(config).length === 0 ? {} : { config }),
  };
  return {
    frame: { ...told, ...run.frame },
    warm: run.warm ?? false,
    program: {
      argv: run.argv,
      ...(run.command === undefined ? {} : { command: run.command }),
      env: filling.env,
      needs: needsOf(tool, copy),
    },
  };
}

/** What every call of it needs; its command too, where no argument makes a part of it. */
export function toolNeeds({ tool, execution }: YamlUse): Pick<Program, 'command' | 'needs'> {
  const needs = needsOf(tool);
  if (execution.kind !== 'cli' || execution.script !== undefined) return { needs };
  if (tool.templating && execution.cmd.some((word) => TEMPLATE.test(word))) return { needs };
  return { needs, command: commandOf(execution.cmd) };
}

const TEMPLATE = /\{[{%#]/;

const needsOf = ({ source, caps }: YamlTool, copy?: string): ProgramNeeds => ({
  parts: [source.folder],
  ...(copy === undefined ? {} : { copies: [{ at: source.folder, from: copy }] }),
  reads: caps.filesystem.read,
  writes: caps.filesystem.write,
  network: caps.network,
  subprocess: caps.subprocess,
});

const commandOf = ([name = '', ...args]: readonly string[]): string =>
  [quoteCommandWord(name), ...args.map(shellQuote)].join(' ');

interface Run {
  readonly argv: readonly [string, ...string[]];
  readonly command?: string;
  readonly frame?: JsonObject;
  readonly warm?: boolean;
}

type Of<K extends YamlKind> = Extract<YamlExecution, { readonly kind: K }>;
type Rule<K extends YamlKind = YamlKind> = (execution: Of<K>, options: ToolProgramOptions) => Run;

const inPack = ({ source }: YamlTool, path: string): string => posix.join(source.folder, path);

/** `-s -B`: nothing of the user's home, and no files written beside the pack's. */
const PYTHON = ['python3', '-s', '-B'] as const;
/** What goes wrong is said on stderr, in plain words. */
const PHP = ['php', '-d', 'display_errors=stderr', '-d', 'html_errors=0', '-d', 'log_errors=0'] as const;

const PROGRAMS: { readonly [K in YamlKind]: Rule<K> } = {
  python({ entry, warm }, { use: { tool } }) {
    if (entry.by === 'script') return { argv: [...PYTHON, inPack(tool, entry.path)] };
    return { argv: [...PYTHON, '-c', PYTHON_RUNNER, tool.source.folder], frame: moduleFrame(entry), warm };
  },
  node({ entry, warm }, { use: { tool } }) {
    if (entry.by === 'script') return { argv: ['node', inPack(tool, entry.path)] };
    return { argv: ['node', '-e', NODE_RUNNER, tool.source.folder], frame: moduleFrame(entry), warm };
  },
  php: ({ entry }, { use: { tool } }) => ({ argv: [...PHP, inPack(tool, entry.path)] }),
  cli({ cmd, script }, { use: { tool }, filling, masked }) {
    const fill = (with_: Filling) => cmd.map((word, i) => with_.text(word, `cmd[${i}]`));
    const [program = '', ...args] = fill(filling);
    if (script !== undefined) return { argv: [inPack(tool, script), ...args] };
    return { argv: [program, ...args], command: commandOf(fill(masked)) };
  },
  http(_, { use }) {
    throw fail('pack.invalid', `Cannot run "${use.id}": it is an http tool`);
  },
};

/** Places below the pack's folder, which the runner is told by its command: a copy may stand for it. */
function moduleFrame({ module, callable, folder, file }: YamlModule): JsonObject {
  const folders = [...new Set([folder, ''])];
  return { module, callable, folders, ...(file === undefined ? {} : { file }) };
}
