// Owns: what the host says about containers: which engine, which images, as whom, how many processes.
// Refuses: what one attempt needs; that is in its plan.
import { POLICY_DEFAULTS } from '../../contract/policy.ts';

export interface DockerOptions {
  /** The engine's UNIX socket: Docker's, or Podman's compatible service. */
  readonly socket: string;
  /** What tells the containers of this workspace from others on the same engine. */
  readonly scope: string;
  /**
   * Images that policy admits: a reference in full (`name@sha256:…`, `sha256:…`), a repository (`registry/name`), a tag that
   * this engine knows (`name:tag`, for images that were never pushed), or all below a prefix (`registry/*`).
   */
  readonly images: readonly string[];
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
