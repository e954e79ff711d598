// Owns: deciding `fs.read`.
// Refuses: denying a listing for one file in it; what may not be read is left out of listings, path by path.
import type { Decider } from './decider.ts';
import { decidePath } from './paths.ts';

export const decideFsRead: Decider<'fs.read'> = (effect, policy) => decidePath('read', effect, policy);
