// Owns: every escape case, as data.
// Refuses: to run them; `escape-run.ts` does, once for each user that they are tried as.
import { CALLS } from './escape/calls.ts';
import type { EscapeCase } from './escape/case.ts';
import { FENCES } from './escape/fences.ts';
import { FILES } from './escape/files.ts';
import { KERNEL } from './escape/kernel.ts';
import { LIMITS } from './escape/limits.ts';
import { LINES } from './escape/lines.ts';
import { NETWORK } from './escape/network.ts';
import { REPOSITORIES } from './escape/repositories.ts';
import { TOGETHER } from './escape/together.ts';

export const ESCAPE_CASES: readonly EscapeCase[] = [
  ...LINES,
  ...FILES,
  ...FENCES,
  ...KERNEL,
  ...NETWORK,
  ...LIMITS,
  ...CALLS,
  ...REPOSITORIES,
  ...TOGETHER,
];
