// Owns: the absolute, resolved folder that a workspace path names.
// Refuses: what is not a folder.
import { realpathSync, statSync } from 'node:fs';
import { fail } from '../contract/errors.ts';

export function findFolder(given: string): string {
  let real: string;
  try {
    real = realpathSync.native(given);
  } catch {
    throw fail('usage', `Cannot use workspace ${given}: there is no such folder`);
  }
  if (!statSync(real).isDirectory()) throw fail('usage', `Cannot use workspace ${given}: it is not a folder`);
  return real;
}
