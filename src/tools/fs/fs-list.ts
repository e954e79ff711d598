// Owns: `fs_list`: which files there are.
// Refuses: their content, and what policy does not let tools see: that is left out.
import { globBase } from '../../base/glob.ts';
import type { ToolContext } from '../../contract/capability.ts';
import { isFailure } from '../../contract/errors.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { flag, readsTree, record } from './arguments.ts';

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
    'List files by glob, sorted. "**" spans folders; a plain folder lists its direct entries. ' +
    'Dot files and what .gitignore ignores are left out unless asked for. To search contents use grep.',
  tags: ['filesystem', 'read'],
  textField: 'files',
  limits: { timeoutMs: 10_000, maxInputBytes: 64 * 1024, maxOutputBytes: 16 * 1024 * 1024 },
  input: () =>
    record(
      {
        glob: {
          type: 'string',
          minLength: 1,
          maxLength: 1024,
          default: '**',
          description: 'Glob such as "src/**/*.ts", or a folder.',
        },
        max_results: {
          type: 'integer',
          minimum: 1,
          maximum: 100_000,
          default: 5000,
          description: 'Most paths.',
        },
        include_hidden: flag(false, 'Include dot files.'),
        include_ignored: flag(false, 'Include ignored files.'),
        include_dirs: flag(false, 'Include folders.'),
      },
      [],
    ),
  output: () =>
    record(
      {
        files: { type: 'array', items: { type: 'string' } },
        count: { type: 'integer' },
        truncated: { type: 'boolean' },
      },
      ['files', 'count', 'truncated'],
    ),
  examples: [
    { title: 'Rust sources', args: { glob: 'src/**/*.rs' } },
    { title: 'What is in a folder', args: { glob: 'src' } },
  ],
  effects: (args, site) => [readsTree(site, globBase(args.glob))],
  async run(args, ctx) {
    const folder = await folderOf(args.glob, ctx);
    const { files, truncated } = await ctx.fs.list({
      glob: folder === undefined ? args.glob : `${folder}*`,
      maxResults: args.max_results,
      includeHidden: args.include_hidden,
      includeIgnored: args.include_ignored,
      includeDirs: args.include_dirs || folder !== undefined,
    });
    if (truncated) {
      const message = `Listed only the first ${files.length} paths; narrow the glob or raise max_results`;
      ctx.warn({ reason: 'content.truncated', message });
    }
    return { files, count: files.length, truncated };
  },
});

/** The folder that is meant, as the beginning of a glob; undefined for a glob, a file, a link, or nothing at all. */
async function folderOf(glob: string, ctx: ToolContext): Promise<string | undefined> {
  const names = glob.split('/').filter((name) => name !== '' && name !== '.');
  const plain = names.join('/');
  if (plain === '') return '';
  if (/(?<!\\)(?:\\\\)*[*?[{]/.test(plain)) return undefined;
  if (/\/\.?$/.test(glob)) return `${plain}/`;
  try {
    const stat = await ctx.fs.stat(plain.replace(/\\(.)/g, '$1'));
    return stat?.type === 'dir' ? `${plain}/` : undefined;
  } catch (thrown) {
    // What may not be looked at is left out of a listing; it is no reason to refuse one.
    if (isFailure(thrown)) return undefined;
    throw thrown;
  }
}
