// Owns: `haft init`: looks at the folder and writes a haft.yaml for it.
// Refuses: to overwrite one that is there, and to trust what somebody else wrote. What it says is in ../init-policy.ts.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../../base/digest.ts';
import { fail } from '../../../contract/errors.ts';
import { findFolder } from '../../../loader/workspace.ts';
import { localPerson, recordManagement } from '../../../preset/record-management.ts';
import { trustWritten } from '../../../preset/trust/trust-question.ts';
import type { Command } from '../command.ts';
import { PROJECT_KINDS, renderPolicy } from '../init-policy.ts';
import { writeFailure } from '../named-path.ts';

export const command: Command = {
  summary: 'Write a haft.yaml for this folder',
  usage: '',
  description:
    'Looks at the folder (package.json, Cargo.toml, pyproject.toml, go.mod, …) and lets its usual commands run.',
  examples: ['haft init', 'haft init --workspace ~/project'],
  positionals: [0, 0],
  async run({ flags, io, json }) {
    const folder = (flags.workspace as string | undefined) ?? process.cwd();
    const file = join(folder, 'haft.yaml');
    const kinds = PROJECT_KINDS.filter(({ marks }) => marks.some((mark) => existsSync(join(folder, mark))));
    const text = renderPolicy(kinds);
    try {
      writeFileSync(file, text, { flag: 'wx' });
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'EEXIST') throw fail('path.exists', 'Cannot write haft.yaml: there is one already');
      if (code === 'ENOENT') throw fail('usage', `Cannot use workspace ${folder}: there is no such folder`);
      if (code === 'EACCES' || code === 'EROFS')
        throw fail('path.denied_by_os', 'Cannot write haft.yaml: the folder is not writable');
      throw writeFailure(thrown, file);
    }
    const sha256 = sha256Hex(text);
    const trusted = await trustWritten(findFolder(folder), sha256);
    const act = { action: 'haft init', by: localPerson(), facts: { sha256, trusted } };
    await recordManagement(findFolder(folder), act);
    if (!trusted) io.err('haft: it could not be trusted here; run haft trust\n');
    const names = kinds.map(({ name }) => name);
    if (json) io.out(`${JSON.stringify({ written: 'haft.yaml', kinds: names })}\n`);
    else
      io.out(
        `Wrote haft.yaml (${names.length > 0 ? names.join(', ') : 'no known kind of project'}). Try: haft call fs_list\n`,
      );
    return 0;
  },
};
