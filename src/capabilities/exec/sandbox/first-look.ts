// Owns: the first program of an engine, which does nothing: that it ran shows that programs can be contained here.
// Refuses: to call a machine able because the tools are installed.
import type { SandboxObservation } from '../../../contract/sandbox.ts';
import { explainFailure, type Unavailable } from './availability.ts';
import { checkSpec } from './check-spec.ts';
import type { Machine } from './conclude.ts';
import type { Engine } from './engine.ts';
import { execute } from './execute.ts';
import { entryId } from './inspect.ts';
import { prepare } from './prepare.ts';
import type { WorkspaceMounts, WorkspaceRequest } from './workspace-mounts.ts';

export async function firstLook(
  engine: Engine,
  workspace: string,
): Promise<SandboxObservation | Unavailable> {
  const spec = { argv: ['true'], env: { PATH: '/usr/bin:/bin' }, timeoutMs: 10_000 } as const;
  const checked = checkSpec(spec, workspace, engine.scratch);
  if ('reason' in checked) return explainFailure(checked.message);
  const program = await prepare(engine, workspace, spec, checked, justRead);
  if ('reason' in program) return explainFailure(program.message);
  const slot = await engine.pool.acquire(false);
  if (!slot) return explainFailure(engine.complaints());
  const execution = execute({ ...program, slot, spec, stdin: false, handOver: false });
  void execution.released.then(() => engine.pool.release(slot, false));
  const { end, stderr, inspection } = await execution.ended;
  if (inspection?.fault !== undefined) return explainFailure(inspection.fault);
  if (end.code !== 0 || !inspection?.seen)
    return explainFailure(Buffer.from(stderr).toString() || engine.complaints());
  return { ...machineOf(engine), ...inspection.seen };
}

export const machineOf = ({ identity, limitsBy }: Engine): Machine => ({
  identity: identity.name,
  uid: identity.uid,
  limitsBy,
});

/** Whether the workspace's own paths can be protected is a question for each program, not for the machine. */
const justRead = ({ root, source }: WorkspaceRequest): WorkspaceMounts => ({
  words: ['--ro-bind', source, root],
  expected: [{ at: root, id: entryId(root), writable: false }],
  disturbed: () => [],
});
