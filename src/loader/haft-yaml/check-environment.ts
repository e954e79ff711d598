// Owns: what can only be said on this machine: whether roots exist, where packs lead, which rules are built in.
// Refuses: being cached; it runs whenever the policy is loaded.

import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { quoted } from '../../contract/diagnostic.ts';
import { type LoadedPolicy, packFolders } from '../../contract/policy.ts';
import type { Draft, DraftSite } from '../../policy/section.ts';
import { findOwnFolders } from '../find-own-folders.ts';
import { isWithin } from '../is-within.ts';
import type { Place } from '../yaml/located.ts';
import type { Report } from '../yaml/report.ts';

export type Resolved = NonNullable<LoadedPolicy['resolved']>;

export const siteOf = (report: Report, place: (path: string) => Place): DraftSite => ({
  error: (code, path, message, hint) => report.error(code, place(path), message, hint),
  warn: (code, path, message, hint) => report.warn(code, place(path), message, hint),
  lineOf: (path) => place(path).line,
});

/** Reports roots that cannot be used, and answers where everything leads. */
export function checkEnvironment(draft: Draft, workspace: string, site: DraftSite): Resolved {
  const root = follow(workspace);
  const own = findOwnFolders();
  const extraRoots = (draft.paths?.extra_roots ?? []).map((written, at) => {
    if (written === undefined) return '';
    const real = follow(resolveFrom(root, written));
    const where = `paths.extra_roots[${at}]`;
    for (const { code, applies, fact, hint } of ROOT_PROBLEMS) {
      if (!applies(real, root, own.folders)) continue;
      site.error(code, where, `${where}: ${quoted(written)} ${fact}`, hint);
      break;
    }
    return real;
  });
  const packs = packFolders(draft).map((folder) => follow(resolveFrom(root, folder)));
  checkRunFolder(draft, [root, ...extraRoots], site);
  const inWorkspace = (path: string) => isWithin(path, root);
  const folders = own.folders.filter(inWorkspace);
  const links = own.links.filter(inWorkspace);
  const isApart = folders.length === 0 && links.length === 0;
  return { workspace: root, extraRoots, packs, ...(isApart ? {} : { own: { folders, links } }) };
}

/** What tools can reach they could change while a run reads it. */
function checkRunFolder({ runs }: Draft, roots: readonly string[], site: DraftSite): void {
  const folder = runs?.folder;
  if (folder === undefined || !roots.some((root) => root !== '' && isWithin(follow(folder), root))) return;
  const message = `runs.folder: ${quoted(folder)} can be reached by tools, which could change what a run reads`;
  site.error('folder.reachable', 'runs.folder', message, 'name a folder beside the workspace');
}

interface RootProblem {
  readonly code: string;
  readonly fact: string;
  readonly hint?: string;
  applies(real: string, workspace: string, own: readonly string[]): boolean;
}

const ROOT_PROBLEMS: readonly RootProblem[] = [
  { code: 'root.missing', fact: 'does not exist', applies: (real) => typeOf(real) === undefined },
  { code: 'root.not_directory', fact: 'is not a folder', applies: (real) => typeOf(real) === 'other' },
  {
    code: 'root.contains_workspace',
    fact: 'holds the workspace, so its rules would no longer bind',
    hint: 'name the folders beside it that are needed',
    applies: (real, workspace) => isWithin(workspace, real),
  },
  {
    code: 'root.inside_workspace',
    fact: 'is inside of the workspace, where paths are granted already',
    hint: 'remove it',
    applies: (real, workspace) => isWithin(real, workspace),
  },
  {
    code: 'root.holds_haft',
    fact: 'holds, or lies in, the folder where Haft keeps its key, what you trust and its compiled code: tools could give themselves any right',
    hint: 'name the folders in it that are needed',
    applies: (real, _workspace, own) =>
      own.some((folder) => isWithin(folder, real) || isWithin(real, folder)),
  },
];

const resolveFrom = (root: string, path: string): string => (isAbsolute(path) ? path : join(root, path));

/** Where links lead, as far as anything is there. */
function follow(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return join(path);
  }
}

function typeOf(path: string): 'folder' | 'other' | undefined {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'other';
  } catch {
    return undefined;
  }
}
