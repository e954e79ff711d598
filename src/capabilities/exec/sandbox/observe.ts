// Owns: looking at a sandbox from inside, and comparing what is seen with what is promised.
// Refuses: to believe the command line; bubblewrap's words are what was asked for, /proc is what was got.
import type { SandboxObservation } from '../../../contract/sandbox.ts';
import { explainFailure, type Unavailable } from './availability.ts';
import { checkSpec } from './check-spec.ts';
import type { Engine } from './engine.ts';
import { execute } from './execute.ts';
import { prepare } from './prepare.ts';
import { INSIDE_HOME, within } from './scratch.ts';
import type { WorkspaceMounts, WorkspaceRequest } from './workspace-mounts.ts';

/** Runs a first program that only looks around. */
export async function observe(engine: Engine, workspace: string): Promise<SandboxObservation | Unavailable> {
  const spec = { argv: LOOK_AROUND, env: { PATH: '/usr/bin:/bin' }, timeoutMs: 10_000 } as const;
  const checked = checkSpec(spec, workspace, engine.scratch);
  if ('reason' in checked) return explainFailure(checked.message);
  const program = await prepare(engine, workspace, spec, checked, justRead);
  if ('reason' in program) return explainFailure(program.message);
  const slot = await engine.pool.acquire(false);
  if (!slot) return explainFailure(engine.complaints());
  const execution = execute({ ...program, slot, spec, stdin: false, handOver: false });
  void execution.released.then(() => engine.pool.release(slot, false));
  const { end, stdout, stderr } = await execution.ended;
  if (end.code !== 0) return explainFailure(text(stderr) || engine.complaints());
  const seen = parseObservation(text(stdout), workspace);
  const fault = faultOf(seen);
  if (fault) return explainFailure(fault);
  const { name, uid } = engine.identity;
  return { identity: name, uid, limitsBy: engine.limitsBy, ...seen };
}

/** Whether the workspace's own paths can be protected is a question for each program, not for the machine. */
const justRead = ({ root, source }: WorkspaceRequest): WorkspaceMounts => ({
  words: ['--ro-bind', source, root],
  disturbed: () => [],
});

const LOOK_AROUND = ['cat', '/proc/self/status', '/proc/net/dev', '/proc/self/mountinfo'] as const;

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

export type SeenInside = Omit<SandboxObservation, 'identity' | 'uid' | 'limitsBy'>;

export function parseObservation(text: string, workspace: string): SeenInside {
  const [status = '', net = '', mounts = ''] = sections(text);
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)?.[1] ?? '';
  return {
    capabilities: Object.fromEntries(CAPABILITY_SETS.map((set) => [set, field(set)])),
    noNewPrivileges: field('NoNewPrivs') === '1',
    seccomp: Number(field('Seccomp')),
    interfaces: net.split('\n').flatMap((line) => /^\s*([^\s:|]+):/.exec(line)?.[1] ?? []),
    writableMounts: mounts.split('\n').flatMap((line) => {
      const [, , , , at, options] = line.split(' ');
      return at && options?.split(',').includes('rw') && !within(at, workspace) ? [at] : [];
    }),
  };
}

/** What is not as promised, in words; undefined when all is well. */
export function faultOf(seen: SeenInside): string | undefined {
  const loud = Object.entries(seen.capabilities).filter(([, bits]) => !/^0+$/.test(bits));
  if (loud.length > 0)
    return `capabilities are left: ${loud.map(([set, bits]) => `${set} ${bits}`).join(', ')}`;
  if (!seen.noNewPrivileges) return 'no_new_privs is not set';
  if (seen.seccomp !== 2) return 'no system call filter is in force';
  if (seen.interfaces.some((name) => name !== 'lo'))
    return `there are interfaces: ${seen.interfaces.join(', ')}`;
  const odd = seen.writableMounts.filter(
    (at) => !EXPECTED_WRITABLE.some((dir) => within(at, dir)) || at === '/dev',
  );
  return odd.length > 0 ? `these can be written: ${odd.join(', ')}` : undefined;
}

const CAPABILITY_SETS = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'];
/** Below /dev: the devices that anybody may use, and /dev/shm. */
const EXPECTED_WRITABLE = ['/dev', '/tmp', INSIDE_HOME];

/** The three files follow each other; the second starts with its heading, and lines of the third with two numbers. */
function sections(text: string): [string, string, string] {
  const net = text.indexOf('Inter-|');
  const mounts = net + text.slice(net).search(/^\d+ \d+ \d+:\d+ /m);
  return [text.slice(0, net), text.slice(net, mounts), text.slice(mounts)];
}
