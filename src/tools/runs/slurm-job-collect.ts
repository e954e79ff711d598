// Owns: `slurm_job_collect`: what a run on Slurm answers, and what it made, as artifacts.
// Refuses: what has not succeeded, and outputs that no longer verify.
import type { RunData } from '../../contract/runs.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { record } from '../fs/arguments.ts';
import {
  EXAMPLE_RUN,
  LIMITS,
  onBackend,
  RUN_ARGS,
  RUN_ID,
  type RunArgs,
  requireBackend,
} from './arguments.ts';

export interface SlurmJobCollectData extends RunData {
  readonly run_id: string;
}

export const slurmJobCollect = defineBuiltin<RunArgs, SlurmJobCollectData>({
  id: 'slurm_job_collect',
  title: 'Collect a run on Slurm',
  description:
    'Return the result of a run that succeeded on Slurm, with its outputs as artifacts. Refused while it is under way: ask slurm_job_get.',
  tags: ['runs', 'slurm', 'read'],
  limits: LIMITS,
  input: RUN_ARGS,
  output: () =>
    record(
      {
        run_id: RUN_ID,
        result: { description: 'What the tool answers.' },
        outputs: {
          type: 'array',
          items: record(
            {
              role: { type: 'string' },
              type: { type: 'string' },
              label: { type: 'string' },
              artifact_id: { type: 'string' },
              size: { type: 'integer' },
            },
            ['role', 'type', 'label', 'artifact_id', 'size'],
          ),
        },
      },
      ['run_id', 'result', 'outputs'],
    ),
  examples: [{ title: 'A run that succeeded', args: { run_id: EXAMPLE_RUN } }],
  needs: () => [onBackend('slurm')],
  effects: ({ run_id: run }) => [onBackend('slurm'), { kind: 'run.read', run }],
  async run({ run_id }, ctx) {
    requireBackend(await ctx.runs.look(run_id), 'slurm');
    const { result, outputs } = await ctx.runs.collect(run_id);
    return { run_id, result, outputs };
  },
});
