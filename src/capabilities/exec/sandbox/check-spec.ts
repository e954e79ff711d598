// Owns: what a caller may ask of a sandbox at all, before anything is started.
// Refuses: what a shell word, a mount or a limit cannot express, and binds that would open the machine.
import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { leadsOut } from '../../../base/follow-links.ts';
import { orUndefined } from '../../../base/or-undefined.ts';
import { isWithin, normalizeRelPath } from '../../../base/rel-path.ts';
import type { Reason } from '../../../contract/errors.ts';
import { WORK_FOLDER } from '../../../contract/plan.ts';
import type { SandboxBind, SandboxRefusal, SandboxSpec } from '../../../contract/sandbox.ts';
import { type CheckedCopy, checkCopy } from './show-copies.ts';
import { NEVER_BOUND, NEVER_WRITABLE } from './system-paths.ts';

export interface CheckedSpec {
  /** Absolute, inside the workspace, resolved. */
  readonly cwd: string;
  readonly binds: readonly CheckedBind[];
  readonly copies: readonly CheckedCopy[];
}

export interface CheckedBind extends SandboxBind {
  /** What `path` resolves to. */
  readonly real: string;
}

export function checkSpec(
  spec: SandboxSpec,
  workspace: string,
  scratch: string,
): CheckedSpec | SandboxRefusal {
  const fault = programFault(spec) ?? limitFault(spec);
  if (fault) return refuse('shell.failed', `Cannot start the program: ${fault}`);
  const binds: CheckedBind[] = [];
  for (const bind of spec.binds ?? []) {
    const checked = checkBind(bind, [join(workspace, '.haft'), scratch]);
    if ('reason' in checked) return checked;
    binds.push(checked);
  }
  const copies: CheckedCopy[] = [];
  for (const copy of spec.copies ?? []) {
    const checked = checkCopy(copy, workspace);
    if ('reason' in checked) return checked;
    copies.push(checked);
  }
  const cwd = isWork(spec) ? WORK_FOLDER : checkCwd(spec.cwd ?? '.', workspace);
  if (typeof cwd !== 'string') return cwd;
  return { cwd, binds, copies };
}

/** A folder that only the binds below it make. */
const isWork = ({ cwd, binds = [] }: SandboxSpec): boolean =>
  cwd === WORK_FOLDER && binds.some(({ at }) => at !== undefined);

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

function programFault({ argv, env, spawns }: SandboxSpec): string | undefined {
  const [program] = argv;
  if (!program) return 'no program is named';
  if (program.startsWith('-')) return 'its name starts with "-"';
  if (spawns === false && program.includes('=')) return 'its name holds a "="';
  if (argv.some((word) => word.includes('\0'))) return 'an argument holds a NUL character';
  for (const [name, value] of Object.entries(env)) {
    if (!NAME.test(name)) return `the variable name "${name}" is not made of letters, digits and "_"`;
    if (value.includes('\0')) return `the variable ${name} holds a NUL character`;
  }
  return undefined;
}

function limitFault({ limits = {}, timeoutMs, graceMs, captureBytes }: SandboxSpec): string | undefined {
  for (const [name, value] of Object.entries({ ...limits, timeoutMs })) {
    if (value !== undefined && !(value > 0)) return `the limit ${name} is not above zero`;
  }
  for (const [name, value] of Object.entries({ graceMs, captureBytes })) {
    if (value !== undefined && !(value >= 0)) return `${name} is below zero`;
  }
  return undefined;
}

function checkCwd(cwd: string, workspace: string): string | SandboxRefusal {
  const normal = normalizeRelPath(cwd);
  if (!normal.ok) return refuse(normal.reason, `Cannot start in "${cwd}": ${normal.message}`);
  // First: whether something is there is told only of the workspace itself.
  const out = leadsOut(join(workspace, normal.path), [workspace], readlinkSync);
  const real = out ? undefined : orUndefined(() => realpathSync.native(join(workspace, normal.path)));
  if (out || (real !== undefined && !isWithin(real, workspace)))
    return refuse('path.outside_workspace', `Cannot start in "${cwd}": it leads out of the workspace`);
  if (real === undefined) return refuse('path.not_found', `Cannot start in "${cwd}": nothing is there`);
  if (!statSync(real).isDirectory())
    return refuse('path.not_directory', `Cannot start in "${cwd}": it is no folder`);
  return real;
}

/** Messages name the path as the caller did; it knows it already. */
function checkBind(bind: SandboxBind, secret: readonly string[]): CheckedBind | SandboxRefusal {
  const { path, writable } = bind;
  const no = (reason: Reason, fact: string) =>
    refuse(reason, `Cannot show "${path}" to the program: ${fact}`);
  if (!isAbsolute(path) || /[\0\n]/.test(path))
    return no('path.invalid', 'it is not an absolute path on one line');
  const { at } = bind;
  if (at !== undefined && !(at.startsWith(`${WORK_FOLDER}/`) && resolve(at) === at && !/[\0\n]/.test(at)))
    return no('path.invalid', `"${at}" is not a place below ${WORK_FOLDER}`);
  const real = orUndefined(() => realpathSync.native(path));
  const stat = real === undefined ? undefined : orUndefined(() => statSync(real));
  if (real === undefined || !stat) return no('path.not_found', 'nothing is there');
  if (!stat.isFile() && !stat.isDirectory())
    return no('path.not_regular', 'it is neither a file nor a folder');
  const overlaps = (other: string) => isWithin(real, other) || isWithin(other, real);
  if ([...NEVER_BOUND, ...secret].some(overlaps))
    return no('path.protected', 'it would open the machine to it');
  if (writable && NEVER_WRITABLE.some(overlaps)) return no('path.protected', 'the system is never writable');
  return { ...bind, path: resolve(path), real };
}

const refuse = (reason: Reason, message: string): SandboxRefusal => ({ reason, message });
