// Owns: `slurm_job_get`: how a run on Slurm stands.
// Refuses: to wait for it, and runs of other engines.
import { defineBuiltin } from '../../contract/tool.ts';
import { EXAMPLE_RUN, lookingOn, type RunArgs, type RunFields } from './arguments.ts';

export const slurmJobGet = defineBuiltin<RunArgs, RunFields>({
  ...lookingOn('slurm'),
  id: 'slurm_job_get',
  title: 'Look at a run on Slurm',
  description:
    'Show how a run on Slurm stands, why it waits or failed, and its log. When it has succeeded use slurm_job_collect.',
  tags: ['runs', 'slurm', 'read'],
  examples: [{ title: 'A run that was submitted', args: { run_id: EXAMPLE_RUN } }],
});
