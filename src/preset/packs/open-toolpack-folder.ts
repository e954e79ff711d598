// Owns: a pack that is a folder with a toolpack in it.
// Refuses: one that breaks the ABI, with everything that is wrong.
import { formatDiagnostic } from '../../contract/diagnostic.ts';
import { fail } from '../../contract/errors.ts';
import type { SchemaCompiler } from '../../contract/json.ts';
import type { Runtime } from '../../contract/runtime.ts';
import { packPlace } from '../../loader/find-pack-folder.ts';
import { isToolpackFolder } from '../../loader/toolpack/pack-files.ts';
import { openToolpackFolder } from '../runs/toolpack-folder.ts';
import type { OpenEntry } from './open-packs.ts';

export interface ToolpackFolderSite {
  /** haft.yaml lies here. */
  readonly root: string;
  readonly runtime: Pick<Runtime, 'runs' | 'installations'>;
  readonly schemas: SchemaCompiler;
  /** Where known definitions are kept, two levels below the state folder. */
  readonly cacheFolder: string;
}

/** For entries that are folders: those of toolpacks are opened here, the rest by `others`. */
export function toolpackOpener(site: ToolpackFolderSite, others: OpenEntry): OpenEntry {
  return async (entry, follow) => {
    const { name, path = '.' } = entry;
    const folder = packPlace(site.root, path);
    if (!isToolpackFolder(folder)) return others(entry, follow);
    const { runs, installations } = site.runtime;
    const { schemas, cacheFolder } = site;
    const { handlesFor } = installations;
    const { value, diagnostics } = await openToolpackFolder(folder, name, {
      handlesFor,
      runs,
      schemas,
      cacheFolder,
      gone: follow.signal,
    });
    if (value) return [value];
    const lines = diagnostics.map((one) => formatDiagnostic({ ...one, file: `${path}/${one.file}` }));
    throw fail('pack.invalid', `Cannot take the toolpack "${path}"\n${lines.join('\n')}`);
  };
}
