// Owns: the paths that belong to Haft and to git, whatever haft.yaml says.
// Refuses: exceptions.
import { escapeGlob } from '../base/glob-parse.ts';
import { normalizeRelPath } from '../base/rel-path.ts';
import { type Fence, type LoadedPolicy, packFolders } from '../contract/policy.ts';
import { locatePath } from '../contract/policy-match.ts';

export interface ProtectedPath {
  readonly path: string;
  readonly rule: string;
  readonly fact: string;
  readonly read: boolean;
  /** It alone, and nothing below: a link, whose target is decided where it leads. */
  readonly alone?: true;
}

export function protectedPaths(loaded: LoadedPolicy): readonly ProtectedPath[] {
  const own = ['haft.yaml', 'haft.lock', ...(loaded.name.startsWith('(') ? [] : [loaded.name])];
  return [
    STATE,
    ...[...new Set(own)].map((path) => readOnly(path, path, LOCKED)),
    ...ownPaths(loaded),
    ...packPaths(loaded).map(([path, name]) => readOnly(path, name, 'packs are read-only to tools')),
    ...(loaded.resolved?.beside ?? []).map((real) => {
      const path = locatePath(real, loaded.resolved?.workspace) ?? real;
      return readOnly(path, path, 'schemas of packs are read-only to tools');
    }),
  ];
}

/** What belongs to Haft or to git at any depth of any root, as text alone can tell. */
export function ownedBy(path: string, access: 'read' | 'write'): Omit<ProtectedPath, 'path'> | undefined {
  if (!NAMES.test(path)) return undefined;
  const names = path.split('/');
  return OWNED.find(({ path: name, read }) => (access === 'write' || !read) && names.includes(name));
}

const STATE: ProtectedPath = {
  path: '.haft',
  rule: 'protected:.haft',
  fact: "it belongs to Haft's own state",
  read: false,
};
const LOCKED = 'policy and locks are read-only to tools';
const NAMES = /\.haft|\.git|haft\./;

const OWNED = [
  STATE,
  ...['haft.yaml', 'haft.lock'].map((name) => readOnly(name, name, LOCKED)),
  readOnly('.git', '.git', 'only git tools write there'),
];

const OWN = 'protected:~/.config/haft';
const LINKED = "this link leads to Haft's own folder";

/** Where the workspace holds the folders with the key, what is trusted and the command's compiled code. */
function ownPaths({ resolved }: LoadedPolicy): ProtectedPath[] {
  const { folders = [], links = [] } = resolved?.own ?? {};
  const located = (path: string) => locatePath(path, resolved?.workspace) ?? path;
  return [
    ...folders.map((path) => ({
      path: located(path),
      rule: OWN,
      fact: 'Haft keeps its own there',
      read: false,
    })),
    ...links.map((path) => ({
      path: located(path),
      rule: OWN,
      fact: LINKED,
      read: true,
      alone: true as const,
    })),
  ];
}

/** The same for programs. */
export function ownFences(paths: readonly ProtectedPath[]): Fence[] {
  return paths
    .filter(({ rule }) => rule === OWN)
    .flatMap(({ path, read, alone }) =>
      (alone ? [''] : ['/**', '']).map((below) => ({
        glob: `${escapeGlob(path)}${below}`,
        read: !read,
        write: true,
        where: OWN,
        own: true as const,
      })),
    );
}

function readOnly(path: string, name: string, fact: string): ProtectedPath {
  return { path, rule: `protected:${name}`, fact, read: true };
}

/** As written, and where links lead. */
function packPaths({ file, resolved }: LoadedPolicy): readonly (readonly [path: string, name: string])[] {
  return packFolders(file).flatMap((name, at) => {
    const relative = normalizeRelPath(name);
    const real = resolved?.packs[at];
    const paths = new Set<string>(relative.ok ? [relative.path] : []);
    if (real) paths.add(locatePath(real, resolved?.workspace) ?? real);
    return [...paths].map((path) => [path, name] as const);
  });
}
