// Owns: what a program of a run finds around it, on every backend: the one list that containers, jobs and the sandbox are made from.
// Refuses: what cannot be equal everywhere (kernel, CPUs, process ids); docs/run-environment.md says what that is.

/** Where there is nothing to map ids with (Docker of an ordinary user) they are that user's own. */
export const RUN_USER = Object.freeze({ uid: 1000, gid: 1000 });

export const RUN_UMASK = '022';

export const RUN_HOST_NAME = 'haft';

/** Where a plan names no image, or its image says nothing else. */
export const RUN_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Stronger than what an image says, weaker than what a plan says. */
const FIXED: { readonly [name: string]: string } = Object.freeze({
  HOME: '/tmp',
  HOSTNAME: RUN_HOST_NAME,
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
  TZ: 'UTC',
});

export type Variables = { readonly [name: string]: string };

/** Without PATH and what else the image brings: for engines that add that themselves. */
export const runVariables = (plan: Variables): Variables => ({ ...FIXED, ...plan });

/** All of a program's environment but PWD, which is `/work`. `image` is undefined where the plan names none. */
export const runEnvironment = (image: Variables | undefined, plan: Variables): Variables => ({
  PATH: RUN_PATH,
  ...image,
  ...runVariables(plan),
});

/** Folders in memory, private, empty and writable. Each may hold as many bytes as the plan has memory, and counts as memory. */
export const RUN_SCRATCH = Object.freeze({ places: ['/tmp', '/dev/shm'], mode: '1777' });

/** Message queues are in a namespace of their own. */
export const QUEUES_FOLDER = '/dev/mqueue';

/** Of a network of its own: what the kernel begins with. Docker changes it by itself. */
export const RUN_SYSCTLS: Variables = Object.freeze({ 'net.ipv4.ip_unprivileged_port_start': '1024' });

/**
 * Bytes, or a count of descriptors. A machine that holds its own programs to less holds these to less, too. What is not
 * here, and is not `bytes written` or `memory`, is unlimited.
 */
export const RUN_LIMITS = Object.freeze({
  coreBytes: 0,
  openFiles: 4096,
  lockedBytes: 64 * 1024,
  /** It may ask for more. */
  stackBytes: 8 * 1024 * 1024,
});

/** A line for any POSIX shell: what the program inherits of it. Before it, the shell may have had other limits. */
export const LIMIT_LINE: string = [
  `umask ${RUN_UMASK}`,
  `ulimit -c ${RUN_LIMITS.coreBytes}`,
  `ulimit -n ${RUN_LIMITS.openFiles}`,
  `ulimit -l ${RUN_LIMITS.lockedBytes / 1024}`,
  `ulimit -S -s ${RUN_LIMITS.stackBytes / 1024}`,
  ...['-f', '-d', '-v', '-t'].map((limit) => `ulimit ${limit} unlimited`),
].join('; ');

/**
 * `NAME=value` on each line, as engines print an image's ENV. Undefined where a line is none. What an image sets twice it
 * means as it says last.
 */
export function parseImageEnv(lines: readonly string[]): Variables | undefined {
  const pairs = lines.filter((line) => line !== '').map((line) => [line.indexOf('='), line] as const);
  if (pairs.some(([at]) => at < 1)) return undefined;
  return Object.fromEntries(pairs.map(([at, line]) => [line.slice(0, at), line.slice(at + 1)]));
}

/** What is kept beside the unpacked file system of an image: its ENV. */
export const imageEnvFile = (folder: string): string => `${folder.replace(/\/+$/, '')}.env`;
