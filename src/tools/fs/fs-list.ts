// Owns: `fs_list`: which files there are.
// Refuses: their content, and what policy does not let tools see: that is left out.
import { globBase } from '../../base/glob.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { flag, record } from './arguments.ts';
import { readsTree } from './file-effects.ts';

export interface FsListArgs {
  readonly glob: string;
  readonly max_results: number;
  readonly include_hidden: boolean;
  readonly include_ignored: boolean;
  readonly include_dirs: boolean;
}

export interface FsListData {
  readonly files: readonly string[];
  readonly count: number;
  readonly truncated: boolean;
}

export const fsList = defineBuiltin<FsListArgs, FsListData>({
  id: 'fs_list',
  title: 'List files',
  description:
    'Lists files by a glob, sorted, as paths relative to the workspace root: "src/**/*.rs", "*.{md,txt}", "docs/*". ' +
    '"*" and "?" stay within one folder, "**" spans folders. ' +
    'What .gitignore ignores and names that begin with a dot are left out unless asked for; links are listed, never followed. ' +
    'To search the content of files use grep; to read one use file_read.',
  tags: ['filesystem', 'read'],
  textField: 'files',
  limits: { timeoutMs: 10_000, maxInputBytes: 64 * 1024, maxOutputBytes: 16 * 1024 * 1024 },
  input: record(
    {
      glob: {
        type: 'string',
        minLength: 1,
        maxLength: 1024,
        default: '**',
        description: 'Relative to the workspace root. Write \\* for a star that is part of a name.',
      },
      max_results: {
        type: 'integer',
        minimum: 1,
        maximum: 100_000,
        default: 5000,
        description: 'How many paths to answer with; when there are more, truncated is true.',
      },
      include_hidden: flag(false, 'Also names that begin with a dot.'),
      include_ignored: flag(false, 'Also what .gitignore files ignore, such as build output.'),
      include_dirs: flag(false, 'Also folders; their paths end with a slash.'),
    },
    [],
  ),
  output: record(
    {
      files: { type: 'array', items: { type: 'string' } },
      count: { type: 'integer' },
      truncated: { type: 'boolean' },
    },
    ['files', 'count', 'truncated'],
  ),
  examples: [{ title: 'Rust sources', args: { glob: 'src/**/*.rs' } }],
  effects: (args, site) => [readsTree(site, globBase(args.glob))],
  async run(args, ctx) {
    const { files, truncated } = await ctx.fs.list({
      glob: args.glob,
      maxResults: args.max_results,
      includeHidden: args.include_hidden,
      includeIgnored: args.include_ignored,
      includeDirs: args.include_dirs,
    });
    if (truncated) {
      const message = `Listed only the first ${files.length} paths; narrow the glob or raise max_results`;
      ctx.warn({ reason: 'content.truncated', message });
    }
    return { files, count: files.length, truncated };
  },
});
