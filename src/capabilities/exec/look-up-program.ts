// Owns: whether a program is installed for this user, where, which version it says it has, and the line that would install it.
// Refuses: to install it, and one that lies in the workspace, where an agent could have put it: it is started outside of any sandbox.
import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';

export interface ProgramSighting {
  readonly path: string;
  /** As it prints it; undefined where it says nothing that looks like one, or nothing in time. */
  readonly version: string | undefined;
}

/** `args`: what makes it print its version. Undefined where it is not on the PATH. */
export async function lookUpProgram(
  name: string,
  args: readonly string[],
  site: { readonly workspace: string; readonly path?: string },
): Promise<ProgramSighting | undefined> {
  const path = onPath(name, site.path ?? process.env.PATH ?? '', site.workspace);
  return path === undefined ? undefined : { path, version: await versionOf(path, args) };
}

/** Of a program that was found in another way. */
export function versionOf(path: string, args: readonly string[]): Promise<string | undefined> {
  const options = {
    cwd: '/',
    // Where version managers keep their settings; nothing else of this process is any of its business.
    env: { PATH: process.env.PATH ?? '', HOME: homedir(), LC_ALL: 'C', ...cluster() },
    timeout: ANSWER_MS,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024,
  } as const;
  return new Promise((resolve) => {
    const child = execFile(path, args, options, (error, stdout, stderr) =>
      resolve(error ? undefined : /\d+(\.\d+)+[\w.+-]*/.exec(stdout || stderr)?.[0]),
    );
    child.stdin?.end();
  });
}

/** Slurm's programs say nothing without their configuration. */
const cluster = (): Record<string, string> =>
  process.env.SLURM_CONF === undefined ? {} : { SLURM_CONF: process.env.SLURM_CONF };

/** A program that asks something, or waits for a disk that is gone, is not waited for. */
const ANSWER_MS = 10_000;

function onPath(name: string, folders: string, workspace: string): string | undefined {
  for (const folder of folders.split(':')) {
    if (!folder.startsWith('/')) continue;
    const path = `${folder}/${name}`;
    const real = realProgram(path);
    if (real !== undefined && ![path, real].some((one) => one.startsWith(`${workspace}/`))) return path;
  }
  return undefined;
}

function realProgram(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? realpathSync.native(path) : undefined;
  } catch {
    return undefined;
  }
}

/** By what /etc/os-release says; every line that is known where it says nothing known. */
export function installHint(packageName: string, release: string = readRelease()): string {
  const of = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(release)?.[1] ?? '';
  const ids = `${of('ID')} ${of('ID_LIKE')}`;
  const own = INSTALLERS.find(({ like }) => like.test(ids));
  const lines = (own ? [own] : INSTALLERS).map(({ command }) => `${command} ${packageName}`);
  return `Install it: ${lines.join(', or ')}`;
}

const INSTALLERS: readonly { readonly like: RegExp; readonly command: string }[] = [
  { like: /\b(debian|ubuntu)\b/, command: 'apt-get install' },
  { like: /\b(fedora|rhel|centos)\b/, command: 'dnf install' },
  { like: /\balpine\b/, command: 'apk add' },
  { like: /\barch\b/, command: 'pacman -S' },
  { like: /suse/, command: 'zypper install' },
];

function readRelease(): string {
  try {
    return readFileSync('/etc/os-release', 'utf8');
  } catch {
    return '';
  }
}
