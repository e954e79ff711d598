// Owns: the backends that a workspace can have, each made from policy: one row for each.
// Refuses: to load one before it is asked for.
import type { JobContainer } from '../../backends/slurm/containers.ts';
import { digestOf } from '../../base/image-reference.ts';
import type { Attempt, Backend } from '../../contract/backend.ts';
import type { BackendName, RunsPolicy, SlurmSettings } from '../../contract/policy.ts';
import { isAlive } from '../../stores/process-identity.ts';
import type { FindImageEnv } from './image-env.ts';

export interface BackendSite {
  /** The folder that attempts' folders are in. */
  readonly root: string;
  /** This process, as attempts know their owners. */
  readonly process: string;
  /** What tells this workspace from all others on an engine, for as long as it exists. */
  scope(): Promise<string>;
  /** The environment of the host: PATH, DOCKER_HOST, SLURM_CONF. */
  readonly env: Readonly<Record<string, string | undefined>>;
  alert(message: string): void;
  readonly imageEnv: FindImageEnv;
}

interface BackendMaker {
  /** The part of policy that it is made from. */
  settings(runs: RunsPolicy): unknown;
  make(site: BackendSite, runs: RunsPolicy): Promise<Backend>;
  readonly hasImages?: boolean;
}

export const BACKEND_MAKERS: { readonly [K in BackendName]: BackendMaker } = {
  local: {
    settings: () => null,
    async make({ root, process, imageEnv }) {
      const { createLocalBackend } = await import('../../backends/local/local-backend.ts');
      const { createSandbox } = await import('../../capabilities/exec/sandbox/create-sandbox.ts');
      return createLocalBackend({
        root,
        sandbox: () => createSandbox({ workspace: root }),
        imageEnv,
        process,
        isAlive,
      });
    },
  },
  docker: {
    hasImages: true,
    settings: ({ docker, images, limits }) => ({ docker, images, limits }),
    async make({ scope, env }, { docker, images = [], limits = {} }) {
      const { createDockerBackend } = await import('../../backends/docker/docker-backend.ts');
      return createDockerBackend({
        socket: docker?.socket ?? socketOf(env.DOCKER_HOST),
        scope: await scope(),
        images: imageEntries(images),
        ...(limits.processes === undefined ? {} : { processes: limits.processes }),
        ...(limits.log_bytes === undefined ? {} : { logBytes: limits.log_bytes }),
      });
    },
  },
  slurm: {
    settings: ({ slurm, images, limits }) => ({ slurm, images, limits }),
    async make({ root, scope, env, alert }, { slurm = {}, images = [], limits = {} }) {
      const { createSlurmBackend } = await import('../../backends/slurm/slurm-backend.ts');
      const { clusterEnv } = await import('../../backends/slurm/slurm-client.ts');
      const { createLocalRunner } = await import('../../backends/slurm/slurm-client.ts');
      const backend = await createSlurmBackend({
        run: createLocalRunner({ env: clusterEnv(slurm.conf, env) }),
        scope: await scope(),
        folder: `${root}/slurm`,
        policy: jobPolicy(slurm),
        ...(slurm.max_jobs === undefined ? {} : { maxJobs: slurm.max_jobs }),
        container: await jobContainer(slurm, { images, limits }),
        alert,
        ...(limits.log_bytes === undefined ? {} : { logBytes: limits.log_bytes }),
      });
      return hasOwnImages(slurm) ? backend : byDigest(backend);
    },
  },
};

const imageEntries = (images: NonNullable<RunsPolicy['images']>): readonly string[] =>
  images.map((entry) => (typeof entry === 'string' ? entry : entry.image));

/** Docker and Podman on a node know images by what their repository calls them. */
const hasOwnImages = ({ container }: SlurmSettings): boolean =>
  container?.kind === 'docker' || container?.kind === 'podman';

async function jobContainer(
  { container = { kind: 'bubblewrap' }, images: unpacked = [] }: SlurmSettings,
  { images, limits }: Required<Pick<RunsPolicy, 'images' | 'limits'>>,
): Promise<JobContainer> {
  const { kind, socket, ...common } = container;
  const folders = Object.fromEntries(unpacked.map(({ image, folder }) => [digestOf(image) ?? image, folder]));
  if (kind === 'bubblewrap') return { kind, images: folders, seccomp: await seccompFilters() };
  if (kind === 'apptainer') return { kind, ...common, images: folders };
  return {
    kind,
    ...common,
    ...(socket === undefined ? {} : { socket }),
    images: imageEntries(images),
    ...(limits.processes === undefined ? {} : { processes: limits.processes }),
  };
}

async function seccompFilters(): Promise<Readonly<Record<string, Uint8Array>>> {
  const { seccompFilter } = await import('../../capabilities/exec/sandbox/seccomp.ts');
  const filters = Object.entries(MACHINES).flatMap(([arch, machine]) => {
    const filter = seccompFilter(arch);
    return filter ? [[machine, filter] as const] : [];
  });
  return Object.fromEntries(filters);
}

/** What `uname -m` calls the CPUs that there are filters for. */
const MACHINES = { x64: 'x86_64', arm64: 'aarch64' } as const;

function socketOf(dockerHost: string | undefined): string {
  return dockerHost?.startsWith('unix://') ? dockerHost.slice('unix://'.length) : '/var/run/docker.sock';
}

function jobPolicy({ partitions, accounts, qos, gres, constraint }: SlurmSettings) {
  const first = {
    partition: partitions?.[0],
    account: accounts?.[0],
    qos: qos?.[0],
    gres: gres?.[0],
    constraint,
  };
  return Object.fromEntries(Object.entries(first).filter(([, value]) => value !== undefined));
}

/** Nodes have an image by what it is, whatever a registry calls it. */
function byDigest(backend: Backend): Backend {
  const named = (attempt: Attempt): Attempt => {
    const digest = attempt.plan.image && digestOf(attempt.plan.image);
    return digest ? { ...attempt, plan: { ...attempt.plan, image: digest } } : attempt;
  };
  return {
    ...backend,
    start: (attempt) => backend.start(named(attempt)),
    find: (attempt) => backend.find(named(attempt)),
  };
}
