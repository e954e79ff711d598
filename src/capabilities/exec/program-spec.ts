// Owns: what a program of a pack gets of the machine: its needs, admitted and within policy, as the sandbox's words.
// Refuses: a need that its call did not declare, and to show a path that policy hides.
import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CallScope } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import { type Program, programEffects } from '../../contract/program.ts';
import type { SandboxBind, SandboxSpec } from '../../contract/sandbox.ts';
import { fencedPaths } from './fenced-paths.ts';
import { within } from './sandbox/scratch.ts';

/** Everything but streams, time, network and the environment. */
export type ProgramSpec = Required<
  Pick<SandboxSpec, 'argv' | 'cwd' | 'visible' | 'writable' | 'readOnly' | 'hidden' | 'binds' | 'spawns'>
> &
  Pick<SandboxSpec, 'limits'>;

/** Throws what `admit` throws. Makes the folders that it may write to, where they are not there. */
export function programSpec(scope: CallScope, program: Program): ProgramSpec {
  for (const effect of programEffects(program, scope.place)) scope.admit(effect);
  const { needs } = program;
  const visible: string[] = [];
  const writable: string[] = [];
  const binds: SandboxBind[] = [];
  const show = (path: string, isWritable: boolean): void => {
    const rel = relativeTo(scope.root, path);
    if (rel === undefined) binds.push({ path, ...(isWritable ? { writable: true } : {}) });
    else (isWritable ? writable : visible).push(rel);
  };
  for (const path of needs.parts) show(path, false);
  const granted = [...needs.reads, ...needs.writes].map((path) => absolute(scope.root, scope.place(path)));
  // What is granted is there already; shown once more, on its own, it could not be replaced.
  const isGranted = (path: string) => granted.some((folder) => within(join(scope.root, path), folder));
  for (const path of needs.named ?? []) if (!isGranted(path) && isFile(scope.root, path)) show(path, false);
  for (const path of needs.reads.map(scope.place)) if (isThere(scope.root, path)) show(path, false);
  for (const path of needs.writes.map(scope.place)) {
    makeFolder(scope.root, path);
    show(path, true);
  }
  const [name, ...args] = program.argv;
  const own = name === 'node' ? process.execPath : name;
  if (own !== name) binds.push({ path: own });
  const shown = [...visible, ...writable];
  return {
    argv: [own, ...args],
    cwd: program.cwd ?? '.',
    visible,
    writable,
    binds,
    spawns: needs.subprocess,
    ...fencedPaths(scope.root, shown.length > 0 ? scope.policy.fences : [], shown),
    ...(program.limits ? { limits: program.limits } : {}),
  };
}

const isFile = (root: string, path: string): boolean =>
  !path.startsWith('..') && statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true;

/** See `ProgramHandle.profile`. */
export function profileOf(scope: CallScope, program: Program, spec = programSpec(scope, program)): string {
  const { policy } = scope;
  return JSON.stringify([spec, program.env, program.needs.network, policy.programs, policy.packs]);
}

/** Effects name what lies in the workspace relative to it; parts are absolute wherever they are. */
function relativeTo(root: string, path: string): string | undefined {
  if (!path.startsWith('/')) return path;
  if (!within(path, root)) return undefined;
  return path === root ? '.' : path.slice(root.length + 1);
}

const absolute = (root: string, path: string) => (path.startsWith('/') ? path : join(root, path));

const isThere = (root: string, path: string): boolean => existsSync(absolute(root, path));

/** Only within the workspace: what is granted beside it is there, or is not. */
function makeFolder(root: string, path: string): void {
  if (path.startsWith('/') || isThere(root, path)) return;
  let above = dirname(join(root, path));
  while (!existsSync(above)) above = dirname(above);
  if (!within(realpathSync(above), root))
    throw fail(
      'path.outside_workspace',
      `Cannot let a program write to "${path}": it leads out of the workspace`,
    );
  mkdirSync(join(root, path), { recursive: true });
}
