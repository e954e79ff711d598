// Owns: a search by ripgrep: the query as it takes it, with what ignore files above say, as one parallel pass that is put in order
// afterwards, or, where far more matches than are asked for, two.
// Refuses: to answer anything whose path may have led elsewhere meanwhile, and the user's settings: no configuration, no ignore
// files but git's (links in place of them neither, as git does), nothing of the world above the workspace.
import { lstatSync, readFileSync } from 'node:fs';
import { type FileCount, type SearchQuery, VENDOR_FOLDERS } from '../../../contract/search.ts';
import { certainPaths, confirmed } from '../confirm.ts';
import { LONG_LINE } from '../file-text.ts';
import type { FileMatches, Findings, Sieve } from '../findings.ts';
import { createFindings, firstMatches, inByteOrder } from '../findings.ts';
import type { Outcome, SearchSite } from '../search.ts';
import type { Selection } from '../selection.ts';
import { createCountsReader, createJsonReader, createLinesReader, type OutputReader } from './read-output.ts';
import { type Ripgrep, runRipgrep } from './run-ripgrep.ts';
import { EXTRA_INPUT } from './shell-pool.ts';

/** A pass whose output is beyond this, with several times the matches that are asked for, is not read to its end. */
const ENOUGH_BYTES = 16 * 1024 * 1024;
const ENOUGH_TIMES = 4;
/** No pass is read beyond this. */
const MAX_BYTES = 256 * 1024 * 1024;
/** How much is named to one run, in characters of paths and in files. */
const MAX_NAMED = 64 * 1024;
const MAX_FILES = 1024;

interface Search {
  readonly ripgrep: Ripgrep;
  readonly site: SearchSite;
  readonly query: SearchQuery;
  readonly sieve: Sieve;
  /** When it began, in milliseconds since 1970. */
  readonly since: number;
  readonly notes: { unreadable: number; unnamed: number; oversized: number };
}

export async function searchRipgrep(
  ripgrep: Ripgrep,
  site: SearchSite,
  query: SearchQuery,
): Promise<Outcome> {
  const { place, selection, scope } = site;
  const visible = scope.visible;
  const search: Search = {
    ripgrep,
    site,
    query,
    sieve: {
      shown: place.shown,
      wants: (rel) => selection.wants(place.shown(rel)) && visible(place.known(rel)),
    },
    since: Date.now(),
    notes: { unreadable: 0, unnamed: 0, oversized: 0 },
  };
  return query.mode === 'matches' ? findMatches(search) : findFiles(search);
}

async function findMatches(search: Search): Promise<Outcome> {
  const { query, notes } = search;
  const { maxResults } = query;
  const findings = createFindings(search.sieve);
  const reader = readerFor(outputFor(query), findings, query);
  let read = 0;
  const enough = (bytes: number) => {
    read = bytes;
    return bytes > MAX_BYTES || (bytes > ENOUGH_BYTES && reader.count > ENOUGH_TIMES * maxResults);
  };
  const stopped = await walk(search, outputFor(query), reader, enough);
  const first = stopped ? await firstByCounting(search) : { files: findings.files.values(), more: false };
  notes.unnamed = Math.max(notes.unnamed, findings.unnamed);
  if (!stopped) notes.oversized += reader.oversized ?? 0;
  const ordered = inByteOrder(first.files);
  const settled = await settle(
    search,
    ordered,
    maxResults,
    ({ matches }) => matches.length,
    (suspects) => confirmMatches(search, suspects),
  );
  const answer = firstMatches(
    settled,
    maxResults,
    !stopped && outputFor(query) === 'lines' ? read : undefined,
  );
  return { ...answer, truncated: answer.truncated || first.more, files: [], notes };
}

/** Counts first, which is cheap however many match, then looks only at the files that come first. */
async function firstByCounting(search: Search): Promise<{ files: Iterable<FileMatches>; more: boolean }> {
  const { maxResults } = search.query;
  const counted = inByteOrder(await countAll(search));
  let wanted = 0;
  let total = 0;
  while (wanted < counted.length && total <= maxResults) total += counted[wanted++]!.count;
  const findings = await matchesIn(search, counted.slice(0, wanted));
  return { files: findings.files.values(), more: wanted < counted.length };
}

async function findFiles(search: Search): Promise<Outcome> {
  const { maxResults } = search.query;
  const counted = inByteOrder(await countAll(search));
  const settled = await settle(
    search,
    counted,
    maxResults,
    () => 1,
    (suspects) => recount(search, suspects),
  );
  const files: FileCount[] = settled.slice(0, maxResults).map(({ file, count }) => ({ file, count }));
  return { matches: [], files, truncated: settled.length > maxResults, full: false, notes: search.notes };
}

/**
 * Of files that are in order, the first that make up more than `max`. `confirm` is asked about those whose path is not
 * certain, and answers with the ones that hold.
 */
async function settle<F extends { readonly rel: string }>(
  { site, since }: Search,
  ordered: readonly F[],
  max: number,
  weigh: (found: F) => number,
  confirm: (suspects: readonly F[]) => Promise<readonly F[]>,
): Promise<F[]> {
  const settled: F[] = [];
  let total = 0;
  for (let at = 0; at < ordered.length && total <= max; ) {
    const batch: F[] = [];
    for (let weight = total; at < ordered.length && weight <= max; weight += weigh(batch.at(-1)!))
      batch.push(ordered[at++]!);
    const paths = batch.map(({ rel }) => rel);
    const isCertain = certainPaths(site.place.root, paths, since);
    const suspects = batch.filter(({ rel }) => !isCertain(rel));
    const held = new Map(
      (suspects.length === 0 ? [] : await confirm(suspects)).map((found) => [found.rel, found]),
    );
    for (const found of batch) {
      const kept = isCertain(found.rel) ? found : held.get(found.rel);
      if (!kept) continue;
      settled.push(kept);
      total += weigh(kept);
    }
  }
  return settled;
}

async function confirmMatches(
  { site, query }: Search,
  suspects: Iterable<FileMatches>,
): Promise<FileMatches[]> {
  const held: FileMatches[] = [];
  for (const found of suspects) {
    const matches = await confirmed(site.files, found.file, found.matches, query);
    if (matches.length > 0) held.push({ ...found, matches });
  }
  return held;
}

interface Counted extends FileCount {
  readonly rel: string;
}

/** A count cannot be held against a file; the lines that were counted can. */
async function recount(search: Search, suspects: readonly Counted[]): Promise<Counted[]> {
  const query: SearchQuery = { ...search.query, mode: 'matches', contextBefore: 0, contextAfter: 0 };
  const lines: Search = { ...search, query: { ...query, maxResults: Number.MAX_SAFE_INTEGER - 1 } };
  const found = await matchesIn(lines, suspects);
  const held = await confirmMatches(lines, found.files.values());
  return held.map(({ rel, file, matches }) => ({ rel, file, count: matches.length }));
}

async function countAll(search: Search): Promise<Counted[]> {
  const findings = createFindings(search.sieve);
  const reader = createCountsReader(findings);
  await walk(search, 'counts', reader, () => false);
  search.notes.unnamed = findings.unnamed;
  return [...reader.counts].map(([rel, count]) => ({ rel, file: search.sieve.shown(rel), count }));
}

/** One pass over all that may be wanted. True: it was not read to its end. */
async function walk(
  search: Search,
  output: Output,
  reader: OutputReader,
  enough: (bytes: number) => boolean,
): Promise<boolean> {
  const { place, selection } = search.site;
  const above = selection.ignored ? undefined : rulesAbove(place.root, place.rel);
  const folder = { rel: place.rel, rulesAbove: above !== undefined };
  return run(search, walkArguments(search.query, selection, output, folder), reader, enough, above);
}

/** The matches of these files, in their order, until there are more than are asked for. */
async function matchesIn(search: Search, files: readonly Counted[]): Promise<Findings> {
  const findings = createFindings(search.sieve);
  const reader = createJsonReader(findings, search.query);
  for (let at = 0; at < files.length && reader.count <= search.query.maxResults; ) {
    const named: string[] = [];
    for (let size = 0; at < files.length && size < MAX_NAMED && named.length < MAX_FILES; at++) {
      named.push(files[at]!.rel);
      size += files[at]!.rel.length;
    }
    await run(search, filesArguments(search.query, 'json', named), reader, () => false);
  }
  search.notes.oversized += reader.oversized ?? 0;
  return findings;
}

async function run(
  { ripgrep, site, notes }: Search,
  args: readonly string[],
  reader: OutputReader,
  enough: (bytes: number) => boolean,
  extraInput?: string,
): Promise<boolean> {
  let bytes = 0;
  const { stopped, unreadable } = await runRipgrep(ripgrep, args, {
    cwd: site.place.root,
    extraInput,
    signal: site.scope.signal,
    onOutput(chunk) {
      bytes += chunk.length;
      reader.feed(chunk);
      return !enough(bytes);
    },
  });
  notes.unreadable = Math.max(notes.unreadable, unreadable);
  return stopped;
}

const readerFor = (output: 'lines' | 'json', findings: Findings, query: SearchQuery): OutputReader =>
  output === 'json' ? createJsonReader(findings, query) : createLinesReader(findings, query.maxLineBytes);

/** What is printed: matching lines below the path of their file, one JSON document a line, or `path NUL count`. */
export type Output = 'lines' | 'json' | 'counts';

/** Context and matches over several lines can only be told apart in JSON, which costs twice as much. */
function outputFor({ multiline, contextBefore, contextAfter }: SearchQuery): 'lines' | 'json' {
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
function filesArguments(query: SearchQuery, output: Output, files: readonly string[]): string[] {
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

const MAX_RULES_BYTES = 1024 * 1024;

/** Without the folder's own file, which ripgrep reads itself. Undefined where there is nothing above. */
function rulesAbove(root: string, folder: string): string | undefined {
  if (folder === '.') return undefined;
  const texts = [readRules(`${root}/.git/info/exclude`)];
  const names = folder.split('/');
  for (let depth = 0; depth < names.length; depth++) {
    const above = names.slice(0, depth).join('/');
    const text = readRules(`${root}/${above === '' ? '' : `${above}/`}.gitignore`);
    texts.push(above === '' ? text : atRoot(text, above));
  }
  const all = texts.filter((text) => text !== '').join('\n');
  return all === '' ? undefined : all;
}

function readRules(path: string): string {
  try {
    const stat = lstatSync(path);
    return stat.isFile() && stat.size <= MAX_RULES_BYTES
      ? readFileSync(path, 'utf8').replace(/^\ufeff/, '')
      : '';
  } catch {
    return '';
  }
}

/** A line with a slash before its end is about the file's own folder; any other about all below it. */
function atRoot(text: string, folder: string): string {
  const prefix = `/${folder.replaceAll(/[\\*?[\]! #]/g, '\\$&')}/`;
  return text
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const negated = line.startsWith('!');
      const body = negated ? line.slice(1) : line.replace(/^\\([!#])/, '$1');
      const anchored = body.slice(0, -1).includes('/');
      const rest = anchored ? body.replace(/^\//, '') : `**/${body}`;
      return `${negated ? '!' : ''}${prefix}${rest}`;
    })
    .join('\n');
}
