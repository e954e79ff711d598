// Owns: `grep`: which lines, or which files, hold a pattern.
// Refuses: patterns that no engine could match in linear time, and what policy does not let tools see: that is left out.
import { globBase } from '../../base/glob.ts';
import type { JsonSchema } from '../../contract/json.ts';
import { FILE_TYPES, type FileType, type SearchMatch, type SearchMode } from '../../contract/search.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { flag, readsTree, record } from './arguments.ts';

export interface GrepArgs {
  readonly pattern: string;
  readonly glob: string;
  readonly case_sensitive: boolean;
  readonly fixed_strings: boolean;
  readonly multiline: boolean;
  readonly context: number;
  readonly context_before?: number;
  readonly context_after?: number;
  readonly file_types: readonly FileType[];
  readonly mode: SearchMode;
  readonly max_results: number;
  readonly include_hidden: boolean;
  readonly include_ignored: boolean;
  readonly max_line_bytes: number;
}

export interface GrepMatch {
  readonly file: string;
  readonly line: number;
  readonly col: number;
  readonly snippet: string;
  readonly end_line?: number;
  readonly snippet_col?: number;
  readonly snippet_b64?: string;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

export interface GrepData {
  readonly matches?: readonly GrepMatch[];
  readonly files?: readonly string[];
  readonly counts?: readonly { readonly file: string; readonly count: number }[];
  readonly count: number;
  readonly truncated: boolean;
}

const whole = (
  minimum: number,
  maximum: number,
  fallback: number | undefined,
  description: string,
): JsonSchema => ({
  type: 'integer',
  minimum,
  maximum,
  ...(fallback === undefined ? {} : { default: fallback }),
  description,
});

export const grep = defineBuiltin<GrepArgs, GrepData>({
  id: 'grep',
  title: 'Search file contents',
  description:
    'Search file contents by regular expression (ripgrep; no look-around). Prefer it to grep or rg in shell_exec. ' +
    'Binary, ignored and dot files and dependencies are left out unless asked for. To find files by name use fs_list.',
  tags: ['filesystem', 'read', 'search'],
  limits: { timeoutMs: 10_000, maxInputBytes: 64 * 1024, maxOutputBytes: 32 * 1024 * 1024 },
  input: () =>
    record(
      {
        pattern: {
          type: 'string',
          minLength: 1,
          maxLength: 8192,
          description: 'Such as "TODO|FIXME".',
        },
        glob: {
          type: 'string',
          minLength: 1,
          maxLength: 1024,
          default: '**',
          description: 'Such as "src/**/*.ts", or a folder.',
        },
        case_sensitive: flag(true, 'Match case.'),
        fixed_strings: flag(false, 'Plain text, no regex.'),
        multiline: flag(false, 'Match across lines.'),
        context: whole(0, 100, 0, 'Lines around each match.'),
        context_before: whole(0, 100, undefined, 'Lines before.'),
        context_after: whole(0, 100, undefined, 'Lines after.'),
        file_types: {
          type: 'array',
          items: { enum: Object.keys(FILE_TYPES) },
          maxItems: 32,
          default: [],
          description: 'Such as "rust", "python".',
        },
        mode: {
          enum: ['matches', 'files', 'count'],
          default: 'matches',
          description: 'files: names only.',
        },
        max_results: whole(1, 100_000, 1000, 'Most matches.'),
        include_hidden: flag(false, 'Include dot files.'),
        include_ignored: flag(false, 'Include ignored files.'),
        max_line_bytes: whole(16, 65_536, 1024, 'Cut longer lines.'),
      },
      ['pattern'],
    ),
  output: () =>
    record(
      {
        matches: {
          type: 'array',
          description: 'In mode matches.',
          items: record(
            {
              file: { type: 'string' },
              line: { type: 'integer' },
              col: { type: 'integer', description: 'Where the match begins in the line: a byte, from 1.' },
              snippet: {
                type: 'string',
                description: 'The line, or all lines of a match that spans several.',
              },
              end_line: { type: 'integer', description: 'Of a match that spans several lines.' },
              snippet_col: {
                type: 'integer',
                description: 'Only where the line was cut: where the snippet begins.',
              },
              snippet_b64: { type: 'string', description: 'Only where it is not UTF-8: the very bytes.' },
              before: { type: 'array', items: { type: 'string' } },
              after: { type: 'array', items: { type: 'string' } },
            },
            ['file', 'line', 'col', 'snippet'],
          ),
        },
        files: { type: 'array', items: { type: 'string' }, description: 'In mode files.' },
        counts: {
          type: 'array',
          description:
            'In mode count: how many lines match in each file; with multiline, how many matches there are.',
          items: record({ file: { type: 'string' }, count: { type: 'integer' } }, ['file', 'count']),
        },
        count: { type: 'integer', description: 'How many matches, or files, are in this answer.' },
        truncated: { type: 'boolean' },
      },
      ['count', 'truncated'],
    ),
  examples: [
    { title: 'Panics in Rust sources', args: { pattern: 'panic!', glob: 'src/**', case_sensitive: false } },
    { title: 'Which files mention it', args: { pattern: 'TODO|FIXME', mode: 'files' } },
    { title: 'With two lines around', args: { pattern: 'fn main', file_types: ['rust'], context: 2 } },
  ],
  effects: (args, site) => [readsTree(site, globBase(args.glob))],
  async run(args, ctx) {
    const { matches, files, truncated } = await ctx.search.search({
      pattern: args.pattern,
      fixedStrings: args.fixed_strings,
      caseSensitive: args.case_sensitive,
      multiline: args.multiline,
      glob: args.glob,
      fileTypes: args.file_types,
      includeHidden: args.include_hidden,
      includeIgnored: args.include_ignored,
      mode: args.mode,
      maxResults: args.max_results,
      contextBefore: args.context_before ?? args.context,
      contextAfter: args.context_after ?? args.context,
      maxLineBytes: args.max_line_bytes,
    });
    return { ...ANSWERS[args.mode](matches, files), truncated };
  },
});

type Found = readonly { readonly file: string; readonly count: number }[];

const ANSWERS: {
  readonly [M in SearchMode]: (matches: readonly SearchMatch[], files: Found) => Omit<GrepData, 'truncated'>;
} = {
  matches: (matches) => ({ matches: matches.map(toMatch), count: matches.length }),
  files: (_, files) => ({ files: files.map(({ file }) => file), count: files.length }),
  count: (_, files) => ({ counts: files, count: files.length }),
};

/** Most have nothing that is spelled otherwise, and there may be a hundred thousand. */
function toMatch(match: SearchMatch): GrepMatch {
  if (!('endLine' in match || 'snippetCol' in match || 'snippetBase64' in match)) return match;
  const { endLine, snippetCol, snippetBase64, ...rest } = match;
  return {
    ...rest,
    ...(endLine === undefined ? {} : { end_line: endLine }),
    ...(snippetCol === undefined ? {} : { snippet_col: snippetCol }),
    ...(snippetBase64 === undefined ? {} : { snippet_b64: snippetBase64 }),
  };
}
