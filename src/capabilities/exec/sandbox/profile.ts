// Owns: bubblewrap's command line: the namespaces, the mounts and the words of one program.
// Refuses: to look at the disk; it is told what is there.
import { WORK_FOLDER } from '../../../contract/plan.ts';
import { QUEUES_FOLDER } from '../../../contract/run-environment.ts';
import type { SandboxBind } from '../../../contract/sandbox.ts';
import { INSIDE_ID } from './host-identity.ts';
import { INSIDE_HOME } from './private-etc.ts';

export interface ProfileRequest {
  /** From `systemWords` and `createEtc`. */
  readonly system: readonly string[];
  /** Beside the workspace; `source` is where the sandbox's user finds it outside. */
  readonly binds: readonly (SandboxBind & { readonly source: string })[];
  /** From `mountWorkspace`. */
  readonly workspace: readonly string[];
  readonly tmpBytes: number;
  /** Where the proxy listens outside, as a unix socket. */
  readonly proxySocket: string | undefined;
  /** Whether the program may start others. */
  readonly spawns: boolean;
  /** See `SandboxSpec`. */
  readonly apart: boolean;
}

/** Where the proxy's socket appears inside. */
export const INSIDE_PROXY = '/run/haft-proxy';

/** Where `single-process` appears inside. It is copied: what lies in the scratch folder may not be executable. */
export const INSIDE_SINGLE = '/run/haft-single';

/** The words that stay the same for as long as a caller asks for the same things. */
export function profileWords(request: ProfileRequest): string[] {
  const tmpfs = (path: string, perms: string) => [
    '--perms',
    perms,
    '--size',
    String(request.tmpBytes),
    '--tmpfs',
    path,
  ];
  return [
    ...ISOLATION,
    ...request.system,
    // All of /proc is read-only: root's user id may write to /proc/sys without any capability, and bubblewrap's own
    // covering of it does not notice.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...tmpfs('/dev/shm', '1777'),
    ...(request.apart ? ['--mqueue', QUEUES_FOLDER] : []),
    ...['--remount-ro', '/dev'],
    ...tmpfs('/tmp', '1777'),
    ...(request.apart ? ['--dir', WORK_FOLDER] : [...tmpfs(INSIDE_HOME, '0755'), ...USUAL_FOLDERS]),
    ...request.binds.flatMap(({ source, path, at = path, writable }) => [
      writable ? '--bind' : '--ro-bind',
      source,
      at,
    ]),
    ...request.workspace,
    ...(request.proxySocket === undefined ? [] : ['--ro-bind', request.proxySocket, INSIDE_PROXY]),
    ...(request.spawns ? [] : ['--perms', '0555', '--file', '6', INSIDE_SINGLE]),
    ...['--remount-ro', '/'],
    ...['--seccomp', '9', '--json-status-fd', '3', '--as-pid-1', '--clearenv'],
  ];
}

const USUAL_FOLDERS = ['--dir', '/run', '--dir', '/var', '--symlink', '../tmp', '/var/tmp'];

export interface SettingRequest {
  readonly shell: string;
  /** From `insideScript`. */
  readonly script: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The words between those of the profile and those of the program itself. */
export function settingWords({ shell, script, cwd, env }: SettingRequest): string[] {
  const variables = Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]);
  return [...variables, '--chdir', cwd, '--', shell, '-c', script, 'haft'];
}

const ISOLATION = [
  ...['--unshare-all', '--unshare-user', '--disable-userns', '--cap-drop', 'ALL'],
  ...['--die-with-parent', '--new-session', '--hostname', 'haft'],
  ...['--uid', String(INSIDE_ID), '--gid', String(INSIDE_ID)],
];
