// Owns: finding out, for the sandbox of this machine, what an image says of the environment, where other backends run that image.
// Refuses: to guess. Where the image can run elsewhere and nobody here knows it, nothing runs: it would not be the same run.
import { readText } from '../../backends/write-once.ts';
import { digestOf } from '../../base/image-reference.ts';
import type { Backend } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import type { RunsPolicy } from '../../contract/policy.ts';
import { backendsInUse } from '../../contract/policy-match.ts';
import { imageEnvFile, parseImageEnv, type Variables } from '../../contract/run-environment.ts';

/** Undefined where runs go nowhere but to this machine, whose programs have no image. */
export type FindImageEnv = (image: string) => Promise<Variables | undefined>;

export function imageEnvFinder(backends: () => readonly Backend[], runs: () => RunsPolicy): FindImageEnv {
  return async (image) => {
    const policy = runs();
    const inUse: readonly string[] = backendsInUse(policy);
    if (!inUse.some((name) => name !== 'local')) return undefined;
    const known = await besideFolder(image, policy);
    if (known) return known;
    const engine = backends().find((one) => one.imageEnv && inUse.includes(one.name));
    const said = await engine?.imageEnv?.(image);
    if (said) return said;
    throw fail(
      'run.infrastructure',
      `Cannot run on this machine in place of the image "${image}": its ENV, which programs have on other backends, is not known here; load it into the engine, or write its ENV beside the folder that runs.slurm.images names`,
      { image },
    );
  };
}

async function besideFolder(image: string, { slurm }: RunsPolicy): Promise<Variables | undefined> {
  const entry = slurm?.images?.find((one) => digestOf(one.image) === digestOf(image));
  if (!entry) return undefined;
  const text = await readText(imageEnvFile(entry.folder)).catch(() => undefined);
  return text === undefined ? undefined : parseImageEnv(text.split('\n'));
}
