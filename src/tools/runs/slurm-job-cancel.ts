// Owns: `slurm_job_cancel`: ending what is under way of a run on Slurm.
// Refuses: what another session began, and runs of other engines.
import { defineBuiltin } from '../../contract/tool.ts';
import { record } from '../fs/arguments.ts';
import {
  EXAMPLE_RUN,
  LIMITS,
  onBackend,
  RUN_ARGS,
  RUN_FIELD_NAMES,
  RUN_FIELDS,
  type RunArgs,
  type RunFields,
  requireBackend,
  runFields,
} from './arguments.ts';

export const slurmJobCancel = defineBuiltin<RunArgs, RunFields>({
  id: 'slurm_job_cancel',
  title: 'Cancel a run on Slurm',
  description:
    'Cancel a run on Slurm and everything it started. Only the session that began it may; it can be submitted again.',
  tags: ['runs', 'slurm', 'write'],
  mutates: true,
  limits: LIMITS,
  input: RUN_ARGS,
  output: () => record(RUN_FIELDS, RUN_FIELD_NAMES),
  examples: [{ title: 'A run that is under way', args: { run_id: EXAMPLE_RUN } }],
  needs: () => [onBackend('slurm')],
  effects: ({ run_id: run }) => [onBackend('slurm'), { kind: 'run.read', run }, { kind: 'run.cancel', run }],
  async run({ run_id }, ctx) {
    requireBackend(await ctx.runs.look(run_id), 'slurm');
    await ctx.intend();
    const look = await ctx.runs.cancel(run_id);
    ctx.testify({ run: run_id, state: look.run.state });
    return runFields(look);
  },
});
