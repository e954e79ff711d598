// Owns: what the engine is asked to create for an attempt: every flag of containment, and nothing that may be forgotten.
// Refuses: to let a plan widen any of it. A plan only brings image, argv, env and resources.
import { join } from 'node:path';
import type { Attempt } from '../../contract/backend.ts';
import { WORK_FOLDER } from '../../contract/plan.ts';
import { type ImageRule, POLICY_DEFAULTS } from '../../contract/policy.ts';
import type { Variables } from '../../contract/run-environment.ts';
import { RUN_HOST_NAME, RUN_SCRATCH, RUN_SYSCTLS, runVariables } from '../../contract/run-environment.ts';
import { demandedFacts, ENTRY_PROGRAM, entryScript } from '../entry-script.ts';

export const LABELS = { scope: 'haft.scope', attempt: 'haft.attempt', run: 'haft.run' } as const;

export interface Site {
  readonly user: string;
  readonly busybox: string;
  readonly engine: 'docker' | 'podman';
  /** This machine's own network, as /proc names it. */
  readonly network: string;
  /** What the image brings; the engine adds it by itself. */
  readonly imageEnv: Variables;
}

/** The name is what makes an attempt unique on an engine. */
export const containerName = (attemptId: string) => `haft-${attemptId}`;

/** `--network none --read-only --cap-drop ALL --security-opt no-new-privileges --user --pids-limit --memory …` */
export function containerSpec(
  { id, runId, plan, folder }: Attempt,
  { scope, processes, logBytes }: Pick<ResolvedOptions, 'scope' | 'processes' | 'logBytes'>,
  { user, busybox, engine, network, imageEnv }: Site,
): object {
  const { cpus, memoryBytes } = plan.resources;
  const added = ADDED_VARIABLES[engine]
    .filter((name) => plan.env[name] === undefined && imageEnv[name] === undefined)
    .join(' ');
  return {
    Image: plan.image,
    Entrypoint: [
      ENTRY_PROGRAM,
      'sh',
      '-c',
      entryScript({ lifeline: false }),
      'haft',
      demandedFacts(user),
      network,
      added,
    ],
    Cmd: plan.argv,
    Env: Object.entries(runVariables(plan.env)).map(([name, value]) => `${name}=${value}`),
    User: user,
    WorkingDir: WORK_FOLDER,
    // By itself it would be the container's id, which no two attempts share.
    Hostname: RUN_HOST_NAME,
    Labels: { [LABELS.scope]: scope, [LABELS.attempt]: id, [LABELS.run]: runId },
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      // By itself it would be of a size of its own: see Tmpfs.
      IpcMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: processes,
      Memory: memoryBytes,
      MemorySwap: memoryBytes,
      NanoCpus: Math.round(cpus * 1e9),
      Sysctls: RUN_SYSCTLS,
      RestartPolicy: { Name: 'no' },
      ...(engine === 'docker' ? { LogConfig: wholeLog(logBytes) } : {}),
      Mounts: [
        bind(join(folder, 'in'), `${WORK_FOLDER}/in`, true),
        bind(join(folder, 'out'), `${WORK_FOLDER}/out`, false),
        bind(busybox, ENTRY_PROGRAM, true),
      ],
      Tmpfs: TMPFS[engine](user, memoryBytes),
    },
  };
}

/** What an engine puts into the environment of a program although nobody asked for it. */
const ADDED_VARIABLES: Readonly<Record<Site['engine'], readonly string[]>> = {
  docker: [],
  podman: ['container', 'TERM'],
};

/**
 * What is in them counts as memory of the program. Docker gives such a folder the mode that it has in the image, and the
 * entry takes that back, whose own they are. Podman takes no owner, would copy what the image has there, and with a read-only
 * root it brings two more folders that anybody may write: these are there, and read-only.
 */
const TMPFS: Readonly<
  Record<Site['engine'], (user: string, bytes: number) => Readonly<Record<string, string>>>
> = {
  docker(user, bytes) {
    const [uid, gid] = user.split(':');
    return scratch(`exec,size=${bytes},mode=${RUN_SCRATCH.mode},uid=${uid},gid=${gid}`);
  },
  podman: (_, bytes) => ({
    ...scratch(`exec,size=${bytes},mode=${RUN_SCRATCH.mode},notmpcopyup,U`),
    '/run': 'ro,nosuid,nodev,size=4096,mode=755,notmpcopyup',
    '/var/tmp': 'ro,nosuid,nodev,size=4096,mode=755,notmpcopyup',
  }),
};

const scratch = (options: string) =>
  Object.fromEntries(RUN_SCRATCH.places.map((place) => [place, `rw,nosuid,nodev,${options}`]));

/**
 * Docker's json-file changes bytes that are no UTF-8. The log is cut far beyond what is kept, and what an engine adds to
 * every line: who writes too much is to be noticed, and must not fill the disk when nobody is there to notice.
 */
const wholeLog = (logBytes: number) => ({
  Type: 'local',
  Config: { 'max-size': `${logBytes * 8 + 64 * 1024 * 1024}`, 'max-file': '1', compress: 'false' },
});

const bind = (Source: string, Target: string, ReadOnly: boolean) => ({
  Type: 'bind',
  Source,
  Target,
  ReadOnly,
  BindOptions: { Propagation: 'rprivate' },
});

export interface DockerOptions {
  /** The engine's UNIX socket: Docker's, or Podman's compatible service. */
  readonly socket: string;
  /** What tells the containers of this workspace from others on the same engine. */
  readonly scope: string;
  /**
   * Images that policy admits: a reference in full (`name@sha256:…`, `sha256:…`), a repository (`registry/name`), a tag that
   * this engine knows (`name:tag`, for images that were never pushed), or all below a prefix (`registry/*`).
   */
  readonly images: readonly (string | ImageRule)[];
  /** `uid:gid` inside. By default this process's own; where that is root's, that of the attempt folder's owner, or nobody's. */
  readonly user?: string;
  /** Processes and threads at one time. By default 1024. */
  readonly processes?: number;
  /** Bytes of standard output and error together, each line counting for 16 more. By default 16 MiB. */
  readonly logBytes?: number;
  /** How long the engine may be away before an attempt counts as lost. By default 60 s. */
  readonly patienceMs?: number;
  /** A statically linked busybox on this machine, which looks at the container from inside. By default the usual places. */
  readonly busybox?: string;
}

export interface ResolvedOptions extends Required<Omit<DockerOptions, 'user' | 'busybox'>> {
  readonly user?: string;
  readonly busybox?: string;
}

export function resolveOptions(options: DockerOptions): ResolvedOptions {
  const { processes, log_bytes: logBytes } = POLICY_DEFAULTS.runLimits;
  return { processes, logBytes, patienceMs: 60_000, ...options };
}
