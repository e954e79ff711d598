// Owns: a query as ripgrep takes it.
// Refuses: the user's settings: no configuration, no ignore files but git's, nothing of the world above the workspace.
import { type SearchQuery, VENDOR_FOLDERS } from '../../../contract/search.ts';
import type { Selection } from '../selection.ts';
import { LONG_LINE } from '../snippet.ts';
import { EXTRA_INPUT } from './kept-shell.ts';

/** What is printed: matching lines below the path of their file, one JSON document a line, or `path NUL count`. */
export type Output = 'lines' | 'json' | 'counts';

/** Context and matches over several lines can only be told apart in JSON, which costs twice as much. */
export function outputFor({ multiline, contextBefore, contextAfter }: SearchQuery): 'lines' | 'json' {
  return multiline || contextBefore > 0 || contextAfter > 0 ? 'json' : 'lines';
}

/** For files below a folder, found by ripgrep itself. */
export function walkArguments(
  query: SearchQuery,
  selection: Selection,
  output: Output,
  folder: { readonly rel: string; readonly rulesAbove: boolean },
): string[] {
  const { names, depth, hidden, ignored } = selection;
  return [
    ...matching(query, output),
    // Links are not followed, and rules of ignore files hold whether or not this is a repository.
    ...['--no-follow', '--no-require-git', '--no-ignore-messages'],
    ...(ignored ? ['--no-ignore'] : ['--no-ignore-dot', '--no-ignore-global', '--no-ignore-parent']),
    ...(folder.rulesAbove && !ignored ? [`--ignore-file=${EXTRA_INPUT}`] : []),
    ...NEVER.map((name) => `--glob=!${name}`),
    ...(ignored ? [] : VENDOR_FOLDERS.map((name) => `--glob=!${name}/`)),
    ...(hidden ? ['--hidden'] : ['--no-hidden']),
    ...(depth === undefined ? [] : [`--max-depth=${depth}`]),
    // A type is the only filter that leaves the ignore rules in force.
    ...(names ? [...names.map((name) => `--type-add=haftwanted:${name}`), '--type=haftwanted'] : []),
    '--',
    named(folder.rel),
  ];
}

/** For these files and no others, one after the other. */
export function filesArguments(query: SearchQuery, output: Output, files: readonly string[]): string[] {
  return [...matching(query, output), '--threads=1', '--', ...files.map(named)];
}

const NEVER = ['.git', '.haft', '.haft-tmp-*'];

/** Never an option, whatever it begins with. */
const named = (rel: string) => (rel === '.' ? './' : `./${rel}`);

function matching(query: SearchQuery, output: Output): string[] {
  return [
    ...['--no-config', '--color=never', '--no-mmap', '--crlf'],
    query.caseSensitive ? '--case-sensitive' : '--ignore-case',
    ...(query.fixedStrings ? ['--fixed-strings'] : []),
    ...(query.multiline ? ['--multiline'] : []),
    ...OUTPUT[output](query),
    `--regexp=${query.pattern}`,
  ];
}

const OUTPUT: { readonly [O in Output]: (query: SearchQuery) => readonly string[] } = {
  lines: ({ maxResults }) => [
    ...['--heading', '--with-filename', '--null', '--line-number', '--column'],
    ...[`--max-columns=${LONG_LINE}`, '--max-columns-preview', `--max-count=${maxResults + 1}`],
  ],
  json: ({ maxResults, contextBefore, contextAfter }) => [
    ...['--json', `--max-count=${maxResults + 1}`],
    ...[`--before-context=${contextBefore}`, `--after-context=${contextAfter}`],
  ],
  counts: () => ['--count', '--with-filename', '--null'],
};
