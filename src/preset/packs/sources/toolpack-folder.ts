// Owns: packs that are folders with a toolpack in them.
// Refuses: one that breaks the ABI, with everything that is wrong; and to run its code to say what it has.
import { join } from 'node:path';
import { formatDiagnostic } from '../../../contract/diagnostic.ts';
import { fail } from '../../../contract/errors.ts';
import { packPlace } from '../../../loader/find-pack-folder.ts';

import { isToolpackFolder, readPackFiles } from '../../../loader/toolpack/pack-files.ts';
import { openToolpackFolder } from '../../runs/toolpack-folder.ts';
import type { PackSource } from '../pack-source.ts';

export const toolpackFolder: PackSource = {
  key: 'path',
  folder: true,
  matches: ({ path = '.' }, root) => isToolpackFolder(join(root, path)),
  open: ({ root, schemas, runtime: { runs, installations } }) => {
    const cacheFolder = `${root}/.haft/cache/toolpacks`;
    return async ({ name, path = '.' }, { signal }) => {
      const { handlesFor } = installations;
      const site = { handlesFor, runs, schemas, cacheFolder, gone: signal };
      const { value, diagnostics } = await openToolpackFolder(packPlace(root, path), name, site);
      if (value) return [value];
      const lines = diagnostics.map((one) => formatDiagnostic({ ...one, file: `${path}/${one.file}` }));
      throw fail('pack.invalid', `Cannot take the toolpack "${path}"\n${lines.join('\n')}`);
    };
  },
  /** As its text says: its code is not run. */
  hasTool({ path = '.' }, ids, { root }) {
    const files = readPackFiles(join(root, path));
    if (!('files' in files)) return false;
    const words = ids.map((id) => id.replaceAll(/\W/g, '\\$&')).join('|');
    const named = new RegExp(`\\btoolName\\s*:\\s*(['"\`])(?:${words})\\1`);
    return files.files.some(({ content }) => named.test(Buffer.from(content).toString('latin1')));
  },
  describe: ({ path = '.' }, _, quoted) => [
    `code of the toolpack ${quoted(path)}, and the programs that it plans`,
  ],
};
