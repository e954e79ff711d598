// Owns: `slurm_job_get`: how a run on Slurm stands.
// Refuses: to wait for it, and runs of other engines.
import { defineBuiltin } from '../../contract/tool.ts';
import { record } from '../fs/arguments.ts';
import {
  EXAMPLE_RUN,
  LIMITS,
  RUN_ARGS,
  RUN_FIELD_NAMES,
  RUN_FIELDS,
  type RunArgs,
  type RunFields,
  requireBackend,
  runFields,
} from './arguments.ts';

export const slurmJobGet = defineBuiltin<RunArgs, RunFields>({
  id: 'slurm_job_get',
  title: 'Look at a run on Slurm',
  description:
    'Answers how a run that was submitted to Slurm stands: queued, running, succeeded, failed or cancelled; its newest attempt, with why it failed and its log as an artifact; and what Slurm says of its job while it is under way. ' +
    'A job that ended while nobody watched is finished first, so that its outputs can be collected.',
  tags: ['runs', 'slurm', 'read'],
  limits: LIMITS,
  input: RUN_ARGS,
  output: record(RUN_FIELDS, RUN_FIELD_NAMES),
  examples: [{ title: 'A run that was submitted', args: { run_id: EXAMPLE_RUN } }],
  effects: ({ run_id: run }) => [{ kind: 'run.read', run }],
  async run({ run_id }, ctx) {
    const look = await ctx.runs.look(run_id);
    requireBackend(look, 'slurm');
    return runFields(look);
  },
});
