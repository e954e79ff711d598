// Owns: the list of the sections of haft.yaml, in the order of the reference page.
// Not here: anything about one of them. Who goes through a policy loops over this list and names none.
import type { Section } from '../section.ts';
import { approvals } from './approvals.ts';
import { ast } from './ast.ts';
import { audit } from './audit.ts';
import { budgets } from './budgets.ts';
import { git } from './git.ts';
import { limits } from './limits.ts';
import { network } from './network.ts';
import { packs } from './packs.ts';
import { paths } from './paths.ts';
import { runs } from './runs.ts';
import { sandbox } from './sandbox.ts';
import { shellAllow } from './shell-allow.ts';
import { tools } from './tools.ts';
import { undo } from './undo.ts';
import { validators } from './validators.ts';
import { version } from './version.ts';

export const SECTIONS: readonly Section[] = [
  version,
  network,
  shellAllow,
  git,
  ast,
  validators,
  tools,
  paths,
  budgets,
  limits,
  approvals,
  undo,
  audit,
  sandbox,
  packs,
  runs,
];
