// Owns: one look at everything below a folder: what belongs to Haft or git there, what policy's rules keep from programs, and what
// cannot be looked at. A folder that did not change since the last look is not read again.
// Refuses: to take what cannot be read for empty.
import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { fromBytes, toSystem } from '../../../base/byte-path.ts';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { isWithin } from '../../../base/rel-path.ts';
import type { Fence } from '../../../contract/policy.ts';
import { compilePathGlob, type PathMatcher } from '../../../contract/policy-match.ts';

export interface Found {
  /** Absolute, as base/byte-path.ts has it: no text need name it. */
  readonly path: string;
  /** Whether a program may not even read it. */
  readonly hidden: boolean;
  /** Whether it may not come into being either. */
  readonly forbidden: boolean;
  /** For people: what says so, and what haft.yaml would have to say instead. */
  readonly rule: string;
  readonly admit?: string;
  readonly kind: 'state' | 'own' | 'policy' | 'git' | 'rule' | 'unreadable';
  readonly type: 'file' | 'folder' | 'link';
  /** Of a link: where it leads, as written. */
  readonly target?: string;
  /** Where a rule names it through links to folders: those links, absolute. */
  readonly via?: readonly string[];
}

export interface TreeScan {
  /** The topmost of each kind: nothing is listed below what is hidden, nothing read-only below what is read-only. */
  readonly found: readonly Found[];
  readonly entries: number;
  /** Folders with many entries that are all in `found`, all hidden or all read-only: one mount can stand for theirs. */
  readonly whole: ReadonlyMap<string, 'hidden' | 'readOnly'>;
  /** Links behind whose names rules may match something. */
  readonly links: readonly string[];
}

export interface TreeScanner {
  /**
   * `below`: absolute paths; what neither lies there nor on the way there is not looked at. Undefined when there
   * are more than `maxEntries`.
   */
  scan(
    root: string,
    options?: { readonly below?: readonly string[]; readonly maxEntries?: number },
  ): TreeScan | undefined;
  /** What says that this path, whatever is there, may not be read or not be written. */
  ruleFor(path: string, access: 'read' | 'write'): string | undefined;
}

/** `nameOf`: how rules name an absolute path. */
export function createTreeScanner(rules: FenceRules, nameOf: (path: string) => string): TreeScanner {
  const known = new Map<string, Folder>();

  const look = (path: string, stat: Stats, inGit: boolean): Folder => {
    const stamp = `${stat.dev} ${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs} ${inGit}`;
    const before = known.get(path);
    if (before?.stamp === stamp) return before;
    const began = Date.now();
    const folder = { stamp, ...read(path, inGit) };
    // A change within the clock's granularity would leave the same times.
    if (stat.ctimeMs < began - SETTLED_MS && stat.mtimeMs < began - SETTLED_MS) known.set(path, folder);
    else known.delete(path);
    return folder;
  };
  const read = (path: string, below: boolean): Omit<Folder, 'stamp'> => {
    const entries = list(path);
    if (!entries) return UNREADABLE;
    const bare = !below && isRepository(entries);
    // What the workspace is itself is the user's to say: only the parts that git reads are held there.
    const parts = bare && nameOf(path) === '.';
    const inGit = below || (bare && !parts);
    const found: Found[] = [];
    const folders: SubFolder[] = [];
    const links: string[] = [];
    for (const entry of entries) {
      const child = path === '/' ? `/${entry.name}` : `${path}/${entry.name}`;
      const ruled = byRules(child, entry, inGit);
      // All of a repository is read-only already; state in it is hidden all the same.
      const own = inGit && entry.name !== '.haft' ? undefined : ownFinding(child, entry, parts);
      const one = own && ruled?.hidden ? { ...own, hidden: true } : (own ?? ruled);
      if (one) found.push(one);
      if (entry.isSymbolicLink() && !one?.hidden && rules.leadsOn(nameOf(child))) links.push(child);
      if (!entry.isDirectory() || one?.hidden || (inGit && GIT_DATA.has(entry.name))) continue;
      folders.push({ path: child, covered: one !== undefined, isGit: one?.kind === 'git' });
    }
    const hidden = found.filter((one) => one.hidden).length;
    const whole =
      entries.length < MERGED_FROM ||
      found.length < entries.length ||
      // What a link leads to lies elsewhere.
      found.some(({ kind, type }) => kind !== 'rule' || type === 'link')
        ? undefined
        : hidden === 0
          ? ('readOnly' as const)
          : hidden === found.length
            ? ('hidden' as const)
            : undefined;
    const head = bare && !parts ? entries.find(({ name }) => name === 'HEAD') : undefined;
    return {
      entries: entries.length,
      found,
      folders,
      links,
      ...(head ? { head: gitFinding(`${path}/HEAD`, head) } : {}),
      ...(whole ? { whole } : {}),
    };
  };
  const byRules = (path: string, entry: Entry, onlyHidden: boolean): Found | undefined => {
    const met = rules.met(nameOf(path));
    return !met || (onlyHidden && !met.hidden) ? undefined : foundBy(met, path, entry);
  };

  return {
    ruleFor: (path, access) => ownRule(path, access) ?? rules.find(nameOf(path), access)?.glob,
    scan(root, { below, maxEntries = Number.POSITIVE_INFINITY } = {}) {
      const found: Found[] = [];
      const whole = new Map<string, 'hidden' | 'readOnly'>();
      const links: string[] = [];
      let entries = 0;
      const visit = (path: string, readOnly: boolean, inGit: boolean): void => {
        if (below && !below.some((one) => isWithin(path, one) || isWithin(one, path))) return;
        const tooLong = path.length > LONGEST / 3 && Buffer.from(toSystem(path)).length > LONGEST;
        const folder = tooLong ? UNREADABLE : enter(path, inGit, look);
        if (!folder) return;
        if (folder.unreadable) {
          found.push({
            path,
            hidden: true,
            // Nobody has paths too long to be named: they were made to hide something.
            forbidden: true,
            rule: tooLong ? 'its path is too long to look into' : 'it cannot be looked into',
            kind: 'unreadable',
            type: 'folder',
          });
          return;
        }
        entries += folder.entries;
        if (entries > maxEntries) return;
        links.push(...folder.links);
        if (folder.whole && path !== root) whole.set(path, folder.whole);
        // The folder is held; without its HEAD it is no repository any more, and the rest may have been there before.
        if (folder.head && !readOnly)
          found.push({ ...folder.head, path, forbidden: false, type: 'folder' }, folder.head);
        const held = readOnly || folder.head !== undefined;
        for (const one of folder.found) {
          if (below && !below.some((shown) => isWithin(one.path, shown) || isWithin(shown, one.path)))
            continue;
          if (one.hidden || !held) found.push(one);
        }
        for (const one of folder.folders)
          if (entries <= maxEntries)
            visit(one.path, held || one.covered, inGit || one.isGit || folder.head !== undefined);
      };
      visit(root, false, false);
      return entries > maxEntries ? undefined : { found, entries, whole, links };
    },
  };
}

interface Folder {
  readonly stamp: string;
  readonly entries: number;
  readonly found: readonly Found[];
  readonly folders: readonly SubFolder[];
  readonly links: readonly string[];
  readonly whole?: 'hidden' | 'readOnly';
  /** Of a folder that git takes for a repository. */
  readonly head?: Found;
  readonly unreadable?: true;
}

interface SubFolder {
  readonly path: string;
  /** Read-only already. */
  readonly covered: boolean;
  readonly isGit: boolean;
}

const UNREADABLE: Folder = { stamp: '', entries: 0, found: [], folders: [], links: [], unreadable: true };
const MERGED_FROM = 16;
const SETTLED_MS = 2_500;
/** Bytes: with another name it must stay below what the system takes for a path. */
const LONGEST = 3_500;
/** Content by its digest: thousands of folders whose names say nothing. */
const GIT_DATA: ReadonlySet<string> = new Set(['objects', 'lfs']);

const GIT_PARTS: ReadonlySet<string> = new Set(
  'HEAD commondir config config.worktree hooks info modules objects packed-refs refs worktrees'.split(' '),
);

/** Undefined where nothing is there any more. */
function enter(path: string, inGit: boolean, look: (path: string, stat: Stats, inGit: boolean) => Folder) {
  try {
    const stat = lstatSync(toSystem(path), { throwIfNoEntry: false });
    if (!stat?.isDirectory()) return undefined;
    return look(path, stat, inGit);
  } catch {
    return UNREADABLE;
  }
}

export interface Entry {
  readonly name: string;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** Undefined where it cannot be told what is there, or where nothing could be mounted on it. */
export function list(folder: string): Entry[] | undefined {
  const path = toSystem(folder);
  try {
    lstatSync(toSystem(`${folder}/.`)); // what may be listed and not entered takes no mount
    if (typeof path === 'string') {
      const entries = readdirSync(path, { withFileTypes: true });
      if (!entries.some(({ name }) => name.includes('\ufffd'))) return entries;
    }
    // Only here, since it takes longer.
    return readdirSync(path, { withFileTypes: true, encoding: 'buffer' }).map((entry) => ({
      name: fromBytes(entry.name),
      isDirectory: () => entry.isDirectory(),
      isSymbolicLink: () => entry.isSymbolicLink(),
    }));
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? [] : undefined;
  }
}

/** What policy's rules say of the thing at this path. */
export function foundBy({ rule, hidden, forbidden }: MetRules, path: string, entry: Entry): Found {
  const said = { rule: rule.where, ...(rule.admit ? { admit: rule.admit } : {}) };
  return { path, hidden, forbidden, ...said, kind: rule.own ? 'own' : 'rule', ...typed(path, entry) };
}

/** What belongs to Haft and to git, at any depth. */
function ownFinding(path: string, entry: Entry, parts: boolean): Found | undefined {
  const { name } = entry;
  const own = { path, forbidden: true, rule: `protected:${name}` };
  if (name === '.haft') return { ...own, hidden: true, kind: 'state', ...typed(path, entry) };
  if (name === 'haft.yaml' || name === 'haft.lock')
    return { ...own, hidden: false, kind: 'policy', ...typed(path, entry) };
  if (name === '.git') return gitFinding(path, entry);
  if (parts && GIT_PARTS.has(name)) return { ...gitFinding(path, entry), forbidden: name === 'HEAD' };
  return undefined;
}

const gitFinding = (path: string, entry: Entry): Found => ({
  path,
  hidden: false,
  forbidden: true,
  rule: 'protected:.git',
  kind: 'git',
  ...typed(path, entry),
});

/** As git tells: a HEAD, and objects and refs of its own or those of another. */
export function isRepository(entries: readonly Entry[]): boolean {
  const has = (name: string) => entries.some((entry) => entry.name === name);
  return has('HEAD') && ((has('objects') && has('refs')) || has('commondir'));
}

function ownRule(path: string, access: 'read' | 'write'): string | undefined {
  const own = path.split('/').find((name) => (access === 'read' ? name === '.haft' : PROTECTED.has(name)));
  return own && `protected:${own}`;
}

const PROTECTED: ReadonlySet<string> = new Set(['.haft', '.git', 'haft.yaml', 'haft.lock']);

function typed(path: string, entry: Entry): Pick<Found, 'type' | 'target'> {
  if (entry.isDirectory()) return { type: 'folder' };
  if (!entry.isSymbolicLink()) return { type: 'file' };
  return {
    type: 'link',
    target: ignoreErrors(() => fromBytes(readlinkSync(toSystem(path), 'buffer'))) ?? '',
  };
}

export interface FenceRules {
  /** What holds for this name; undefined where it is free. */
  met(name: string): MetRules | undefined;
  /** The rule that may match below a folder by this name and does not by the other: with none, by any path whatever. */
  leadsOn(name: string, other?: string, access?: 'read'): FenceRule | undefined;
  /** Equal for names below which the same is forbidden. */
  progress(name: string): string;
  find(name: string, access: 'read' | 'write'): FenceRule | undefined;
}

interface MetRules {
  /** The rule to name: the one about reading, where there is one. */
  readonly rule: FenceRule;
  readonly hidden: boolean;
  readonly forbidden: boolean;
}

export interface FenceRule {
  readonly glob: string;
  readonly read: boolean;
  readonly write: boolean;
  /** For people. */
  readonly where: string;
  readonly admit: string | undefined;
  readonly own: boolean;
}

export function compileFences(fences: readonly Fence[]): FenceRules {
  const rules = fences.map(compile);
  const met = (name: string): MetRules | undefined => {
    let read: CompiledRule | undefined;
    let write: CompiledRule | undefined;
    for (const rule of rules) {
      if ((read || !rule.read) && (write || !rule.write)) continue;
      if (!rule.matches(name)) continue;
      if (rule.read) read ??= rule;
      if (rule.write) write ??= rule;
    }
    const rule = read ?? write;
    return rule && { rule, hidden: read !== undefined, forbidden: write !== undefined };
  };
  return {
    met,
    leadsOn: (name, other, access) =>
      rules.find((rule) => (access === undefined || rule[access]) && rule.leadsOn(name, other)),
    progress: (name) => rules.map((rule) => rule.progress(name)).join(';'),
    find: (name, access) => rules.find((rule) => rule[access] && rule.matches(name)),
  };
}

interface CompiledRule extends FenceRule {
  matches(name: string): boolean;
  leadsOn(name: string, other: string | undefined): boolean;
  progress(name: string): string;
}

/** A name that no rule means: only what begins with `**` goes on below it as it began. */
const ANY = '\u0001';

function compile(fence: Fence): CompiledRule {
  const { glob, read, write, except = [] } = fence;
  const matcher = compilePathGlob(glob);
  const freed: PathMatcher[] = except.flatMap((one) =>
    one.endsWith('**') ? [compilePathGlob(one)] : [compilePathGlob(one), compilePathGlob(`${one}/**`)],
  );
  let everywhere: ReadonlySet<number> | undefined;
  const met = (name: string) => matcher.progress(name);
  return {
    glob,
    read,
    write,
    where: `${fence.where ?? 'paths.rules'}: ${glob}`,
    admit: fence.admit,
    own: fence.own === true,
    matches: (name) => matcher.matches(name) && !freed.some((one) => one.matches(name)),
    leadsOn(name, other) {
      const ahead = met(name);
      if (ahead.length === 0) return false;
      // Where one holds an end of its pattern that begins anew at any depth, so does every other name.
      everywhere ??= new Set(met(ANY).filter((step) => met('.').includes(step)));
      const known = other === undefined ? everywhere : new Set(met(other));
      return ahead.some((step) => !known.has(step)) && !freed.some((one) => one.matches(name));
    },
    progress: (name) => [matcher, ...freed].map((one) => one.progress(name).join()).join(':'),
  };
}
