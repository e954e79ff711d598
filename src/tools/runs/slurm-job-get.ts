// Owns: `slurm_job_get`: how a run on Slurm stands.
// Refuses: to wait for it, and runs of other engines.
import { defineBuiltin } from '../../contract/tool.ts';
import { EXAMPLE_RUN, lookingOn, type RunArgs, type RunFields } from './arguments.ts';

export const slurmJobGet = defineBuiltin<RunArgs, RunFields>({
  ...lookingOn('slurm'),
  id: 'slurm_job_get',
  title: 'Look at a run on Slurm',
  description:
    'Answers how a run that was submitted to Slurm stands: queued, running, succeeded, failed or cancelled; its newest attempt, with why it failed and its log as an artifact; and what Slurm says of its job while it is under way. ' +
    'A job that ended while nobody watched is finished first, so that its outputs can be collected.',
  tags: ['runs', 'slurm', 'read'],
  examples: [{ title: 'A run that was submitted', args: { run_id: EXAMPLE_RUN } }],
});
