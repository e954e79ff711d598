// Owns: the paths that belong to Haft and to git, whatever haft.yaml says.
// Refuses: exceptions.
import { normalizeRelPath } from '../../base/rel-path.ts';
import type { LoadedPolicy } from '../../contract/policy.ts';
import { locatePath } from './locate-path.ts';

export interface ProtectedPath {
  readonly path: string;
  readonly rule: string;
  readonly fact: string;
  readonly read: boolean;
}

export function protectedPaths(loaded: LoadedPolicy): readonly ProtectedPath[] {
  const own = ['haft.yaml', 'haft.lock', ...(loaded.name.startsWith('(') ? [] : [loaded.name])];
  return [
    { path: '.haft', rule: 'protected:.haft', fact: "it belongs to Haft's own state", read: false },
    ...[...new Set(own)].map((path) => readOnly(path, path, 'policy and locks are read-only to tools')),
    ...packPaths(loaded).map(([path, name]) => readOnly(path, name, 'packs are read-only to tools')),
  ];
}

/** Whether one of the names in it is `.git`: the repository's own machinery, at any depth. */
export function isGitInternal(path: string): boolean {
  if (!path.includes('.git')) return false;
  return `/${path}/`.includes('/.git/');
}

const readOnly = (path: string, name: string, fact: string): ProtectedPath => ({
  path,
  rule: `protected:${name}`,
  fact,
  read: true,
});

/** As written, and where links lead. */
function packPaths({ file, resolved }: LoadedPolicy): readonly (readonly [path: string, name: string])[] {
  const written = (file.packs ?? []).filter((pack) => typeof pack === 'string');
  return written.flatMap((name, at) => {
    const relative = normalizeRelPath(name);
    const real = resolved?.packs[at];
    const paths = new Set<string>(relative.ok ? [relative.path] : []);
    if (real) paths.add(locatePath(real, resolved?.workspace) ?? real);
    return [...paths].map((path) => [path, name] as const);
  });
}
