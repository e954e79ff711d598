// Owns: the options of sbatch: what the plan needs, and what policy says about partitions, accounts and the rest.
// Refuses: requeueing, the environment of the submitter, and options that nobody named here.
import type { Attempt } from '../../contract/backend.ts';
import type { RunResources } from '../../contract/plan.ts';

/** What policy decides about jobs. None of it is part of a run's identity. */
export interface SlurmPolicy {
  readonly partition?: string;
  readonly account?: string;
  readonly qos?: string;
  readonly reservation?: string;
  readonly constraint?: string;
  readonly gres?: string;
  readonly licenses?: string;
  readonly nice?: number;
}

export function jobOptions(attempt: Attempt, name: string, policy: SlurmPolicy): string[] {
  const { resources } = attempt.plan;
  const options: Record<string, string | number | undefined> = {
    'job-name': name,
    comment: attempt.id,
    // Slurm replaces % in the name of the output file, not in the folder that it is in.
    chdir: `${attempt.folder}/meta`,
    output: 'slurm.out',
    'open-mode': 'append',
    nodes: 1,
    ntasks: 1,
    'cpus-per-task': Math.max(1, Math.ceil(resources.cpus)),
    mem: `${Math.ceil(resources.memoryBytes / MIB) + OWN_MIB}M`,
    time: minutesFor(resources),
    // The submitter's is a clean one; without this Slurm would start a login shell to make another.
    export: 'ALL',
    ...policy,
    ...attempt.placement,
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return ['--no-requeue', ...given.map(([option, value]) => `--${option}=${value}`)];
}

const MIB = 1024 * 1024;
/** For the script that watches the program. */
const OWN_MIB = 16;
/** Slower than any disk that outputs are hashed from. */
const HASHED_PER_MS = 20_000;

/** Slurm's limit is only the last resort: the script keeps the exact one. */
function minutesFor({ wallMs, outputBytes }: RunResources): number {
  return Math.ceil((wallMs + outputBytes / HASHED_PER_MS) / 60_000) + 1;
}
