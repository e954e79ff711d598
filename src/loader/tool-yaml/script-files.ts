// Owns: the programs of a pack: which file a word names, that it is one of the pack, and the digest of its content.
// Refuses: running anything.
import type { YamlScript } from '../../contract/yaml-tool.ts';
import type { FileRefusal, FileStamp, PackReader } from './pack-files.ts';

export interface ScriptFiles {
  /** The file of this normalised path below the pack's folder; `sha256` is null where nothing is there. */
  find(path: string): YamlScript | FileRefusal;
}

export interface ScriptFilesSite {
  readonly reader: PackReader;
  /** Told of every file that is looked for, by its path; null where nothing is there. */
  depend(path: string, stamp: FileStamp | null): void;
}

export function createScriptFiles({ reader, depend }: ScriptFilesSite): ScriptFiles {
  const known = new Map<
    string,
    { readonly script: YamlScript | FileRefusal; readonly stamp: FileStamp | null }
  >();
  const look = (path: string) => {
    const found = reader.digest(path);
    if (found === undefined) return { script: { path, sha256: null }, stamp: null };
    if ('code' in found) return { script: found, stamp: null };
    return { script: { path, sha256: found.sha256 }, stamp: found.stamp };
  };
  return {
    find(path) {
      let found = known.get(path);
      if (!found) {
        found = look(path);
        known.set(path, found);
      }
      depend(path, found.stamp);
      return found.script;
    },
  };
}
