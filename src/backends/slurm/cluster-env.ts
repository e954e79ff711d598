// Owns: the environment in which Slurm's clients are run, so that they find the cluster that is meant.
// Refuses: a slurm.conf that is not there: the clients would look for it for a minute.
import { existsSync } from 'node:fs';
import { fail } from '../../contract/errors.ts';

export function clusterEnv(
  conf: string | undefined,
  { PATH, SLURM_CONF }: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const file = conf ?? SLURM_CONF;
  if (file !== undefined && !existsSync(file))
    throw fail(
      'run.infrastructure',
      `Cannot reach Slurm: there is no slurm.conf where ${conf === undefined ? 'SLURM_CONF' : 'haft.yaml (runs.slurm.conf)'} says; "haft doctor" tries it`,
    );
  return { PATH: PATH ?? '/usr/bin:/bin', ...(file === undefined ? {} : { SLURM_CONF: file }) };
}
