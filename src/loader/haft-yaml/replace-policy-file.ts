// Owns: another text in the place of haft.yaml, whole or not at all, once whoever replaces it has looked at it as a file.
// Refuses: to judge the text, and a draft where tools could change it after it was judged.
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail } from '../../contract/errors.ts';
import { isNotRegular, readRegularText } from '../read-regular.ts';

const NAME = 'haft.yaml';

/** Empty where there is none. */
export function readPolicyText(workspace: string): string {
  try {
    return readRegularText(join(workspace, NAME));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return '';
    if (isNotRegular(thrown)) throw fail('path.not_regular', `Cannot read ${NAME}: it is not a regular file`);
    throw thrown;
  }
}

/** What it says is said for other folders as well. */
export const isLinkedPolicy = (workspace: string): boolean =>
  lstatSync(join(workspace, NAME), { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

/** `check` is given the path of the draft; what it throws keeps the file as it was. */
export async function replacePolicyFile<T>(
  workspace: string,
  text: string,
  check: (draft: string) => Promise<T>,
): Promise<T> {
  const file = join(workspace, NAME);
  const draft = join(workspace, '.haft', `${NAME}.${process.pid}`);
  try {
    mkdirSync(join(workspace, '.haft'), { recursive: true, mode: 0o700 });
    const { mode = 0o644 } = statSync(file, { throwIfNoEntry: false }) ?? {};
    writeFileSync(draft, text, { flag: 'wx' });
    chmodSync(draft, mode & 0o777);
    const checked = await check(draft);
    renameSync(draft, file);
    return checked;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
      throw fail('path.denied_by_os', `Cannot write ${NAME}: its folder is not writable`);
    throw thrown;
  } finally {
    rmSync(draft, { force: true });
  }
}
