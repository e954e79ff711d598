// Owns: deciding `fs.write`.
// Refuses: a whole tree in which something may not be written.
import type { Decider } from './decider.ts';
import { decidePath } from './paths.ts';

export const decideFsWrite: Decider<'fs.write'> = (effect, policy) => decidePath('write', effect, policy);
