// Owns: when a rule of haft.yaml matches: path globs, tool names, domains, command patterns, and which verdict is stricter.
// Refuses: deciding a call (src/policy) and reading files; the loader checks examples with the same functions.
import { compileGlob, compileGlobProgress, matchesName } from '../base/glob.ts';
import { type GlobToken, isSpanName, literalText, parseGlob, splitNames } from '../base/glob-parse.ts';
import { isUnder, normalizeRelPath } from '../base/rel-path.ts';
import type { BackendName, ImageRule, RunsPolicy, Verdict } from './policy.ts';

const STRICTNESS: { readonly [V in Verdict]: number } = { allow: 0, ask: 1, deny: 2 };

export const isStricter = (one: Verdict, other: Verdict): boolean => STRICTNESS[one] > STRICTNESS[other];

/** The strictest of these, or undefined where there is none. */
export function strictestOf(verdicts: Iterable<Verdict>): Verdict | undefined {
  let strictest: Verdict | undefined;
  for (const one of verdicts) if (!strictest || isStricter(one, strictest)) strictest = one;
  return strictest;
}

/** What makes two entries of a list the same rule: everything but its decision. A text is its own identity. */
export function ruleIdentity(entry: unknown): string {
  if (typeof entry !== 'object' || entry === null) return JSON.stringify(entry);
  const { decision: _, examples: __, ...rule } = entry as { readonly [key: string]: unknown };
  const { tool, paths, path, pattern, domain, image } = rule;
  const named = pattern ?? domain ?? image;
  if (named !== undefined) return JSON.stringify(named);
  if (path !== undefined) return JSON.stringify(['path', path]);
  return JSON.stringify(tool === undefined ? rule : [tool, paths ?? null]);
}

/** Every backend that some tool may be executed on. */
export function backendsInUse(runs: RunsPolicy = {}): readonly BackendName[] {
  const { backend = 'local', backends = [], rules = [] } = runs;
  const ruled = rules.flatMap((rule) => [rule.backend, ...(rule.backends ?? [])]);
  return [...new Set([backend, ...backends, ...ruled])];
}

// ---------------------------------------------------------------------------------------------- paths

export interface PathMatcher {
  /** Normalised paths: relative to the workspace, or absolute below an extra root. */
  matches(path: string): boolean;
  /**
   * Whether it could match something below this folder. `named`: the glob leads to a place there. `perhaps`: a `**`
   * above the folder could end up there as well as anywhere else.
   */
  reaches(folder: string): Reach;
  /** See compileGlobProgress: compares what it may match below one name of a folder and below another. */
  progress(folder: string): readonly number[];
}

type Reach = 'never' | 'perhaps' | 'named';

/**
 * Whether a rule stands in the way of writing everything below a folder. One that only perhaps reaches there is held
 * against each path before any is touched: else `**\/.env` would forbid to delete any folder, and `**\/.npmrc` that asks
 * would ask about every move.
 */
export function blocksTree(matcher: PathMatcher, verdict: Verdict, folder: string): boolean {
  return verdict !== 'allow' && matcher.reaches(folder) === 'named';
}

/**
 * The glob of a path rule. Where its last part has no wildcard it holds for everything below, too. One that begins
 * with a slash is about absolute paths; one that begins with `**` is about all; any other about the workspace.
 * Taken apart when it is first needed, and then throws a `Rejection` where `checkPathGlob` would have.
 */
export function compilePathGlob(glob: string): PathMatcher {
  const absolute = glob.startsWith('/');
  const pattern = absolute ? glob.slice(1) : glob;
  const everywhere = pattern.startsWith('**');
  let needles: readonly string[] | undefined;
  let machine: GlobMachine | undefined;
  let progress: ((folder: string) => readonly number[]) | undefined;
  const compiled = (): GlobMachine => {
    machine ??= createMachine(pattern);
    return machine;
  };

  const inScope = (path: string): string | undefined => {
    if (path.startsWith('/')) return absolute || everywhere ? path.slice(1) : undefined;
    return absolute ? undefined : path;
  };
  return {
    matches(path) {
      // Most paths lack the literal part of the pattern, and a native search says so at once.
      needles ??= needlesOf(pattern);
      if (needles.length > 0 && !needles.some((needle) => path.includes(needle))) return false;
      const subject = inScope(path);
      if (subject === undefined) return false;
      const { whole, below } = compiled();
      return whole(subject) || (below?.(subject) ?? false);
    },
    progress(folder) {
      const subject = inScope(folder);
      if (subject === undefined) return [];
      progress ??= compileGlobProgress(compiled().below ? `${pattern}/**` : pattern, { dot: true });
      return progress(subject);
    },
    reaches(folder) {
      const subject = inScope(folder);
      if (subject === undefined) return absolute && folder === '/' ? 'named' : 'never';
      const { alternatives, below } = compiled();
      const names = subject === '.' || subject === '' ? [] : subject.split('/');
      const reaches = alternatives.map((alternative) => reachOf(alternative, names, below !== undefined));
      return reaches.includes('named') ? 'named' : reaches.includes('perhaps') ? 'perhaps' : 'never';
    },
  };
}

/** Throws a `Rejection` when the glob of a path rule cannot be understood. */
export function checkPathGlob(glob: string): void {
  parseGlob(glob.startsWith('/') ? glob.slice(1) : glob);
}

interface GlobMachine {
  readonly alternatives: readonly (readonly Name[])[];
  whole(path: string): boolean;
  readonly below: ((path: string) => boolean) | undefined;
}

function createMachine(pattern: string): GlobMachine {
  const alternatives = parseGlob(pattern).map(splitNames);
  return {
    alternatives,
    whole: compileGlob(pattern, { dot: true }),
    // Where braces hold both a plain and a wild last part, all of them hold below: the stricter reading.
    below: alternatives.some(endsPlain) ? compileGlob(`${pattern}/**`, { dot: true }) : undefined,
  };
}

/** Texts of which every matching path holds one, as long as can be; none where that cannot be told. */
function needlesOf(written: string): readonly string[] {
  // Brackets stand for one character. Those that do not read at a glance are left, and then nothing can be told.
  const pattern = written.replaceAll(/\[[!^]?[^\]\\{},/]+\]/g, '?');
  if (/[[\]\\]/.test(pattern)) return [];
  let best: readonly string[] = [];
  const offer = (texts: readonly string[]): void => {
    if (texts.length > 0 && shortest(texts) > shortest(best)) best = texts;
  };
  let text = '';
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    if (char !== '*' && char !== '?' && char !== '/' && char !== '{') {
      if (char === '}') return [];
      text += char;
      continue;
    }
    offer(literal(text));
    text = '';
    if (char !== '{') continue;
    const end = endOfGroup(pattern, at);
    if (end === undefined) return [];
    // One of its alternatives stands there: each of them has to have something to look for.
    const each = alternativesOf(pattern.slice(at + 1, end)).map(needlesOf);
    if (each.every((needles) => needles.length > 0)) offer(each.flat());
    at = end;
  }
  offer(literal(text));
  return best;
}

const literal = (text: string): readonly string[] => (text === '' || text === '.' ? [] : [text]);
const shortest = (texts: readonly string[]): number =>
  texts.length === 0 ? 0 : Math.min(...texts.map((text) => text.length));

function endOfGroup(pattern: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < pattern.length; at++) {
    if (pattern[at] === '{') depth++;
    else if (pattern[at] === '}' && --depth === 0) return at;
  }
  return undefined;
}

function alternativesOf(inner: string): string[] {
  const found = [''];
  let depth = 0;
  for (const char of inner) {
    if (char === '{') depth++;
    if (char === '}') depth--;
    if (char === ',' && depth === 0) found.push('');
    else found[found.length - 1] += char;
  }
  return found;
}

type Name = readonly GlobToken[];

function reachOf(alternative: readonly Name[], folder: readonly string[], holdsBelow: boolean): Reach {
  for (const [at, name] of folder.entries()) {
    const sought = alternative[at];
    if (!sought) return holdsBelow ? 'named' : 'never';
    if (isSpanName(sought)) return 'perhaps';
    if (!mayMatch(sought, name)) return 'never';
  }
  return 'named';
}

/** By what it begins and ends with; what stands between wildcards is not looked for. */
function mayMatch(sought: Name, name: string): boolean {
  const literal = literalText(sought);
  if (literal !== undefined) return literal === name;
  const first = sought.findIndex(({ kind }) => kind !== 'char');
  const last = sought.findLastIndex(({ kind }) => kind !== 'char');
  const begin = literalText(sought.slice(0, first)) ?? '';
  const end = literalText(sought.slice(last + 1)) ?? '';
  return name.startsWith(begin) && name.endsWith(end);
}

const endsPlain = (names: readonly Name[]): boolean => literalText(names.at(-1) ?? []) !== undefined;

/**
 * The one spelling of a path that rules are held against: relative in the workspace, absolute outside of it. Undefined for
 * what can name nothing, or climbs out of a workspace of which nobody knows where it is. Links are followed where a path
 * is opened, and what they lead to is decided again.
 */
export function locatePath(given: string, workspace: string | undefined): string | undefined {
  const path = ODD_NAME.test(given) ? normal(given, workspace) : given;
  if (path === undefined || workspace === undefined || !path.startsWith('/')) return path;
  if (path === workspace) return '.';
  return isUnder(path, workspace) ? path.slice(workspace.length + 1) : path;
}

/** An empty name, `.` or `..`: effects are normalised, and one that is not must not slip past a rule. */
const ODD_NAME = /(?:^|\/)\.{0,2}(?:\/|$)/;

/** Without such names; what climbs out of the workspace becomes absolute. */
function normal(path: string, workspace: string | undefined): string | undefined {
  if (path.startsWith('/')) {
    const absolute = normalizeRelPath(path.slice(1));
    return absolute.ok ? `/${absolute.path}` : undefined;
  }
  const relative = normalizeRelPath(path);
  if (relative.ok) return relative.path;
  return workspace === undefined ? undefined : normal(`${workspace}/${path}`, undefined);
}

// ---------------------------------------------------------------------------------------------- tools

/** `*` stands for any characters, dots too. */
export const matchesTool = (pattern: string, id: string): boolean => matchesName(pattern, id);

/** The entries of `runs.images` that hold for a tool; where nobody says which, those for all tools. */
export const imagesFor = (
  tool: string | undefined,
  images: readonly (string | ImageRule)[] = [],
): readonly ImageRule[] =>
  images
    .map((entry) => (typeof entry === 'string' ? { image: entry } : entry))
    .filter(({ tools }) => !tools || (tool !== undefined && tools.some((glob) => matchesTool(glob, tool))));

// -------------------------------------------------------------------------------------------- domains

/** Where a connection goes. */
export interface Target {
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
}

export interface Domain {
  /** As in a parsed URL (lower case, ASCII), without a dot at the end. */
  readonly host: string;
  /** `*.host`: every host below it, not the host itself. */
  readonly below: boolean;
  readonly port: number | undefined;
}

const DEFAULT_PORTS: { readonly [scheme: string]: number } = { http: 80, https: 443 };
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

/** Throws an `Error` whose message says what is wrong with it. */
export function parseDomain(text: string): Domain {
  const below = text.startsWith('*.');
  const found = /^(\[[0-9a-fA-F:.]+\]|[^:/?#@\s[\]]+)(?::([0-9]{1,5}))?$/.exec(below ? text.slice(2) : text);
  if (!found) throw new Error(domainProblem(text));
  const port = found[2] === undefined ? undefined : Number(found[2]);
  if (port !== undefined && (port < 1 || port > 65_535)) throw new Error(`${port} is not a port`);
  const host = normalHost(found[1] as string);
  const named = host.length <= 253 && host.split('.').every((label) => LABEL.test(label));
  if (!named && !host.startsWith('[')) throw new Error(domainProblem(text));
  return { host, below, port };
}

export function matchesDomain(domain: Domain, target: Target): boolean {
  const host = normalHost(target.host);
  if (domain.below ? !host.endsWith(`.${domain.host}`) : host !== domain.host) return false;
  return target.port === (domain.port ?? DEFAULT_PORTS[target.scheme]);
}

/** Whether every connection that `narrow` matches is one that `wide` matches. */
export function coversDomain(wide: Domain, narrow: Domain): boolean {
  if (wide.port !== narrow.port) return false;
  if (!wide.below) return !narrow.below && wide.host === narrow.host;
  return narrow.host.endsWith(`.${wide.host}`) || (narrow.below && narrow.host === wide.host);
}

/** Where a host (`example.org`, `localhost:8080`) or a URL leads; undefined when it is neither. */
export function parseTarget(text: string): Target | undefined {
  const url = URL.parse(text.includes('://') ? text : `https://${text}`);
  if (!url?.hostname) return undefined;
  const scheme = url.protocol.slice(0, -1);
  return { scheme, host: normalHost(url.hostname), port: Number(url.port) || (DEFAULT_PORTS[scheme] ?? 0) };
}

/** Empty where it can be no host. Names beyond ASCII and odd spellings of addresses become what is looked up. */
function normalHost(host: string): string {
  const written = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return (URL.parse(`http://${written}`)?.hostname ?? '').replace(/\.$/, '');
}

function domainProblem(text: string): string {
  if (text.includes('://')) return 'it is a URL; name the host alone';
  if (text.includes('/')) return 'it holds a path; name the host alone';
  if (text.includes('*')) return 'a wildcard can only be its first part, as in *.example.org';
  return 'it is not the name of a host';
}

// ------------------------------------------------------------------------------------------- commands

/**
 * Whether it is found in a command. Of an entry that allows it must be found at the start: what allows `cargo` does not
 * allow `rm cargo`. What asks or denies may be found anywhere, as in `--force`.
 */
export type CommandPattern = (command: string, verdict?: Verdict) => boolean;

/** Compiles a pattern; throws an `Error` whose message says what is wrong with it. */
export type PatternCompiler = (pattern: string) => CommandPattern;

const MAX_PATTERN = 1000;

/** Loads the linear-time engine: 20 ms of a cold start, so only where there are patterns to try. */
export async function loadPatternCompiler(): Promise<PatternCompiler> {
  const { RE2JS } = await import('re2js');
  return (pattern) => {
    if (pattern.length > MAX_PATTERN) throw new Error(`it is longer than ${MAX_PATTERN} characters`);
    try {
      const compiled = RE2JS.compile(pattern);
      return (command, verdict) =>
        verdict === 'allow' ? compiled.matcher(command).lookingAt() : compiled.test(command);
    } catch (error) {
      throw new Error((error as Error).message.replace(/^error parsing regexp: /, ''));
    }
  };
}
