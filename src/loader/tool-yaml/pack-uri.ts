// Owns: how a file of a pack is named among schemas: `pack:/folder/file.json`, whatever machine it lies on.
// Refuses: names that climb out of the pack's folder.
import { posix } from 'node:path';

const ROOT = 'pack:/';

/** `path` is relative to the pack's folder. */
export const packUri = (path: string): string => ROOT + path.split('/').map(encodeURIComponent).join('/');

/** A schema that is written in a manifest: `#` in it is itself, and other files are relative to the manifest. */
export const partUri = (path: string, part: string): string => `${packUri(path)}?${encodeURIComponent(part)}`;

/** The file that is named, or that the part is of. Undefined where it names no file of a pack. */
export function packPath(uri: string): string | undefined {
  if (!uri.startsWith(ROOT)) return undefined;
  try {
    return uri.slice(ROOT.length).replace(/\?.*$/, '').split('/').map(decodeURIComponent).join('/');
  } catch {
    return undefined;
  }
}

/** Whether a reference in this file leads above the pack's folder; resolving it as a URI would hide that. */
export function climbsOut(reference: string, from: string): boolean {
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
