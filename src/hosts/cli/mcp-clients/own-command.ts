// Owns: how clients start `haft mcp` for a workspace, in absolute paths, and knowing such a command again.
// Refuses: paths that a configuration cannot hold.
import { basename, resolve } from 'node:path';
import { isRecord } from '../../../base/is-record.ts';
import { fail } from '../../../contract/errors.ts';
import type { Json } from '../../../contract/json.ts';

/** The program, then its arguments. */
export function ownCommand(workspace: string): readonly [string, ...string[]] {
  const odd = [process.execPath, process.argv[1] ?? '', workspace].find((path) => path.includes('\ufffd'));
  if (odd !== undefined)
    throw fail('path.invalid', `Cannot write the path ${odd} into a configuration: it is not UTF-8`);
  return [process.execPath, resolve(process.argv[1] ?? ''), 'mcp', '--workspace', workspace];
}

/** The workspace that an entry of a client serves with Haft; undefined where it is another program. */
export function workspaceOf(entry: Json | undefined): string | undefined {
  if (!isRecord(entry)) return undefined;
  const { command, args = [] } = entry as { readonly command?: Json; readonly args?: Json };
  const words = [command, args].flat();
  const [program, mcp, flag, workspace] = words.slice(-4);
  const isHaft = typeof program === 'string' && /^haft(\.[cm]?[jt]s|\.cmd|\.exe)?$/.test(basename(program));
  const isPlain = isHaft && mcp === 'mcp' && flag === '--workspace';
  return isPlain && typeof workspace === 'string' ? workspace : undefined;
}
