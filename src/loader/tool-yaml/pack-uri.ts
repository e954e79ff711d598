// Owns: how a file of a pack is named among schemas: `pack:/folder/file.json`, whatever machine it lies on.
// Refuses: names that climb out of the folder that references must stay below.
import { posix } from 'node:path';

const ROOT = 'pack:/';

/**
 * Names count from the folder that references must not leave: the pack's own, or one above it. `prefix` is the way from
 * there to the pack's folder, '' where they are the same; paths are relative to the pack's folder.
 */
export interface PackNames {
  uri(path: string): string;
  /** A schema that is written in a manifest: `#` in it is itself, and other files are relative to the manifest. */
  part(path: string, part: string): string;
  /** The file that is named, or that the part is of. Undefined where it names no file of a pack. */
  path(uri: string): string | undefined;
  climbsOut(reference: string, from: string): boolean;
}

export function createPackNames(prefix: string): PackNames {
  const down = (path: string) => (prefix === '' ? path : posix.join(prefix, path));
  const uri = (path: string): string => ROOT + down(path).split('/').map(encodeURIComponent).join('/');
  return {
    uri,
    part: (path, part) => `${uri(path)}?${encodeURIComponent(part)}`,
    path(given) {
      const path = decodedPath(given);
      return path === undefined || prefix === '' ? path : posix.relative(`/${prefix}`, `/${path}`);
    },
    climbsOut: (reference, from) => climbsOut(reference, down(from)),
  };
}

function decodedPath(uri: string): string | undefined {
  if (!uri.startsWith(ROOT)) return undefined;
  try {
    return uri.slice(ROOT.length).replace(/\?.*$/, '').split('/').map(decodeURIComponent).join('/');
  } catch {
    return undefined;
  }
}

/** Whether a reference in this file leads above that folder; resolving it as a URI would hide that. */
function climbsOut(reference: string, from: string): boolean {
  const [path = ''] = reference.split('#');
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) return false;
  if (path.startsWith('/')) return true;
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // Then it is not a file's name either, and will not be found.
  }
  return /^\.\.(\/|$)/.test(posix.join(posix.dirname(from), decoded));
}
