// Owns: what a program is contained in on a node, as policy says it, and the table of the scripts that do it.
// Refuses: a job without containment; there is no row for it.
import { admitsImage } from '../../base/image-reference.ts';
import { fail } from '../../contract/errors.ts';
import { type ApptainerContainer, apptainerScript } from './apptainer-script.ts';
import { type BubblewrapContainer, bubblewrapScript } from './bubblewrap-script.ts';
import type { ContainedProgram } from './contained-program.ts';
import { type EngineContainer, engineScript } from './engine-script.ts';

export type JobContainer = BubblewrapContainer | EngineContainer | ApptainerContainer;

interface ContainerKind<C> {
  /**
   * Shell text that defines `contain`, which becomes the container, and sets its arguments as `"$@"`; and `is_seen`,
   * `note_seen`, `end_contained` and `judge_code`, which the job script asks for.
   */
  script(container: C, program: ContainedProgram): string;
  /** Throws where policy does not let the image run in this. */
  admit(container: C, image: string | undefined): void;
}

export const containScript = (container: JobContainer, program: ContainedProgram): string =>
  kindOf(container).script(container, program);

export const admitImage = (container: JobContainer, image: string | undefined): void =>
  kindOf(container).admit(container, image);

const ENGINE: ContainerKind<EngineContainer> = {
  script: engineScript,
  admit({ kind, images }, image) {
    if (image === undefined || !/^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$/.test(image))
      throw fail(
        'policy.denied',
        `Cannot run ${JSON.stringify(image ?? null)} with ${kind} on Slurm: it needs an image that is pinned by a digest`,
      );
    if (!images.some((entry) => admitsImage(entry, image)))
      throw fail('policy.denied', `Cannot run the image "${image}": policy does not name it`, { image });
  },
};

const KINDS: {
  readonly [K in JobContainer['kind']]: ContainerKind<Extract<JobContainer, { readonly kind: K }>>;
} = {
  bubblewrap: {
    script: bubblewrapScript,
    admit({ images = {} }, image) {
      if (image !== undefined) requireFolder(images, image);
    },
  },
  docker: ENGINE,
  podman: ENGINE,
  apptainer: { script: apptainerScript, admit: ({ images }, image) => requireFolder(images, image) },
};

function requireFolder(images: Readonly<Record<string, string>>, image: string | undefined): void {
  if (image === undefined || images[image] === undefined)
    throw fail(
      'policy.denied',
      `Cannot run image ${JSON.stringify(image ?? null)} on Slurm: policy names no folder for it`,
    );
}

const kindOf = <C extends JobContainer>({ kind }: C) => KINDS[kind] as unknown as ContainerKind<C>;
