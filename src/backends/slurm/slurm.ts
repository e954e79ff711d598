// Owns: the backend `slurm` as policy, toolpacks and `haft doctor` know it: jobs of a cluster that this machine can submit to.
// Refuses: to load what submits and watches jobs before it is opened.
import { digestOf, goesBy } from '../../base/image-reference.ts';
import type { Attempt, Backend, BackendKind } from '../../contract/backend.ts';
import type { RunsPolicy } from '../../contract/policy.ts';
import type { ListShape, TextShape } from '../../contract/shape.ts';
import type { JobContainer } from './containers.ts';

declare module '../../contract/policy.ts' {
  interface RunsPolicy {
    readonly slurm?: SlurmSettings;
  }
}

/** Of each list the first is what jobs get; the others are what callers may choose instead. */
export interface SlurmSettings {
  readonly partitions?: readonly string[];
  readonly accounts?: readonly string[];
  readonly qos?: readonly string[];
  readonly gres?: readonly string[];
  readonly constraint?: string;
  /** Jobs of this workspace in the queue at one time. */
  readonly max_jobs?: number;
  /** The cluster's slurm.conf, where it is not the machine's own. */
  readonly conf?: string;
  /** Where the nodes have the unpacked file systems of images. */
  readonly images?: readonly { readonly image: string; readonly folder: string }[];
  readonly container?: SlurmContainer;
}

const CONTAINERS = ['bubblewrap', 'docker', 'podman', 'apptainer'] as const;

/** What programs are contained in on the nodes; bubblewrap unless it says otherwise. Docker and Podman have images of their own. */
export interface SlurmContainer {
  readonly kind: (typeof CONTAINERS)[number];
  /** The engine's program on the nodes. */
  readonly command?: string;
  /** The engine's socket on the nodes. */
  readonly socket?: string;
  /** A statically linked busybox on the nodes, which looks at containers from inside. */
  readonly busybox?: string;
}

const LISTS = { partition: 'partitions', account: 'accounts', qos: 'qos', gres: 'gres' } as const;

export const slurm: BackendKind = {
  name: 'slurm',
  images: 'taken',
  dialect: { io: true, mayOmitImage: true, dest: 'dest_relpath', below: 'in' },
  placement: LISTS,
  settings,
  check: ({ slurm: own }) =>
    (own?.images ?? []).flatMap((entry, at) => {
      const fact = 'has no digest, and nodes know images by nothing else';
      const isPinned = entry?.image === undefined || digestOf(entry.image) !== undefined;
      return isPinned ? [] : [{ at: `slurm.images[${at}].image`, text: entry.image, fact }];
    }),
  // Nodes have no engine to ask, or one that only a job can ask.
  refuseImage(image, { slurm: own = {} }) {
    if (hasOwnImages(own) || folderOf(image, own) !== undefined) return undefined;
    const rule = 'runs.slurm.images';
    return { rule, fact: `no entry of ${rule} says which folder of the nodes holds the image "${image}"` };
  },
  // A bare digest says that nodes have it, and no name; engines of nodes are asked by the job.
  knowsName(image, { slurm: own = {} }) {
    if (hasOwnImages(own)) return undefined;
    const names = (own.images ?? []).flatMap((entry) =>
      digestOf(entry.image) === digestOf(image) && entry.image.includes('@') ? [entry.image] : [],
    );
    return names.length === 0 ? undefined : goesBy(image, names);
  },
  async imageEnv(image, { slurm: own = {} }) {
    const folder = folderOf(image, own);
    if (folder === undefined) return undefined;
    const { imageEnvFile, parseImageEnv } = await import('../../contract/run-environment.ts');
    const { readText } = await import('../write-once.ts');
    const text = await readText(imageEnvFile(folder)).catch(() => undefined);
    return text === undefined ? undefined : parseImageEnv(text.split('\n'));
  },
  programs: () => [
    {
      name: 'Slurm',
      command: 'sbatch',
      neededFor: 'runs on a cluster (runs: backend slurm)',
      packageName: 'slurm-client',
    },
  ],
  async open({ root, scope, env, alert, seccomp }, runs) {
    const { slurm: own = {}, limits = {} } = runs;
    const { createSlurmBackend } = await import('./slurm-backend.ts');
    const { clusterEnv, createLocalRunner } = await import('./slurm-client.ts');
    const backend = await createSlurmBackend({
      run: createLocalRunner({ env: clusterEnv(own.conf, env) }),
      scope: await scope(),
      folder: `${root}/slurm`,
      policy: firstOf(own),
      ...(own.max_jobs === undefined ? {} : { maxJobs: own.max_jobs }),
      container: await jobContainer(runs, seccomp),
      alert,
      ...(limits.log_bytes === undefined ? {} : { logBytes: limits.log_bytes }),
    });
    return hasOwnImages(own) ? backend : byDigest(backend);
  },
};

const folderOf = (image: string, { images = [] }: SlurmSettings): string | undefined =>
  images.find((entry) => digestOf(entry.image) === digestOf(image))?.folder;

/** Docker and Podman on a node know images by what their repository calls them. */
const hasOwnImages = ({ container }: SlurmSettings): boolean =>
  container?.kind === 'docker' || container?.kind === 'podman';

async function jobContainer(
  { slurm: own = {}, images = [], limits = {} }: RunsPolicy,
  seccomp: () => Promise<Readonly<Record<string, Uint8Array>>>,
): Promise<JobContainer> {
  const { kind, socket, ...common } = own.container ?? { kind: 'bubblewrap' };
  const folders = Object.fromEntries(
    (own.images ?? []).map(({ image, folder }) => [digestOf(image) ?? image, folder]),
  );
  if (kind === 'bubblewrap') return { kind, images: folders, seccomp: await seccomp() };
  if (kind === 'apptainer') return { kind, ...common, images: folders };
  return {
    kind,
    ...common,
    ...(socket === undefined ? {} : { socket }),
    images,
    ...(limits.processes === undefined ? {} : { processes: limits.processes }),
  };
}

const firstOf = ({ constraint, ...own }: SlurmSettings): Readonly<Record<string, string>> => ({
  ...(constraint === undefined ? {} : { constraint }),
  ...Object.fromEntries(
    Object.entries(LISTS).flatMap(([key, list]) => own[list]?.slice(0, 1).map((first) => [key, first]) ?? []),
  ),
});

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

// ------------------------------------------------------------------------------------ its settings

const text = (check: string, doc: string): TextShape => ({ is: 'text', check, doc });
const words = (item: string, doc: string): ListShape => ({ is: 'list', item: text('word', item), doc });

function settings(): ReturnType<NonNullable<BackendKind['settings']>> {
  return {
    is: 'map',
    doc: 'The jobs of the slurm backend. Of each list the first is what jobs get; callers may choose among the others.',
    keys: {
      partitions: words('A partition.', "By default the cluster's."),
      accounts: words('An account.', "By default the user's."),
      qos: words('A quality of service.', "By default the account's."),
      gres: words('Generic resources: `gpu:1`.', 'By default none.'),
      constraint: text('word', 'Features that nodes must have.'),
      max_jobs: {
        is: 'number',
        doc: 'Jobs of this workspace in the queue at one time.',
        min: 1,
        max: 1_000_000,
        default: 'no limit',
      },
      conf: text('place', "The cluster's slurm.conf. By default that of `SLURM_CONF`, or the machine's own."),
      images: {
        is: 'list',
        doc: 'Where nodes have the unpacked file systems of images, read-only; for bubblewrap and Apptainer.',
        item: {
          is: 'map',
          doc: 'An image on the nodes.',
          required: ['image', 'folder'],
          keys: {
            image: text('image', 'Its digest: `name@sha256:…` or `sha256:…`.'),
            folder: text(
              'place',
              'The absolute folder that holds its unpacked file system; its ENV lies beside it, in a file of that name with `.env` added.',
            ),
          },
        },
      },
      container: {
        is: 'map',
        doc: 'What programs are contained in on the nodes.',
        required: ['kind'],
        keys: {
          kind: {
            is: 'choice',
            of: CONTAINERS,
            doc: 'Docker and Podman run images that the node has; nothing is pulled. Apptainer is untested.',
            default: 'bubblewrap',
          },
          command: text(
            'place',
            'The absolute path of `docker`, `podman` or `apptainer` on the nodes. By default found on their PATH.',
          ),
          socket: text(
            'place',
            'The UNIX socket of Docker or Podman on the nodes. By default the one that the command uses by itself.',
          ),
          busybox: text(
            'place',
            'A statically linked busybox on the nodes, which looks at containers from inside. By default the usual places.',
          ),
        },
      },
    },
  };
}
