// Owns: another text in the place of haft.yaml, whole or not at all, once whoever replaces it has looked at it as a file.
// Refuses: to judge the text, and to leave a draft behind.
import { chmodSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Empty where there is none. */
export function readPolicyText(workspace: string): string {
  try {
    return readFileSync(join(workspace, 'haft.yaml'), 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw thrown;
  }
}

/** `check` is given the path of the draft; what it throws keeps the file as it was. */
export async function replacePolicyFile<T>(
  workspace: string,
  text: string,
  check: (draft: string) => Promise<T>,
): Promise<T> {
  const file = realFile(join(workspace, 'haft.yaml'));
  const draft = `${file}.${process.pid}.new`;
  try {
    writeFileSync(draft, text, { flag: 'wx' });
    const checked = await check(draft);
    const mode = statSync(file, { throwIfNoEntry: false })?.mode;
    if (mode !== undefined) chmodSync(draft, mode & 0o777);
    renameSync(draft, file);
    return checked;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Where it is a link, what it leads to. */
function realFile(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file;
  }
}
