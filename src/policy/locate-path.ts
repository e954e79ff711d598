// Owns: the one spelling of a path that rules are held against: relative in the workspace, absolute outside of it.
// Refuses: the disk; links are followed where a path is opened, and what they lead to is decided again.
import { isUnder, normalizeRelPath } from '../base/rel-path.ts';

/** Undefined for what can name nothing, or climbs out of a workspace of which nobody knows where it is. */
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
