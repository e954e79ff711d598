// Owns: `slurm_submit`: a call of a toolpack's tool, as a job that goes on by itself.
// Refuses: scripts: what runs is what the toolpack plans, and policy decides its call as if it were made directly.
import type { Placement } from '../../contract/backend.ts';
import type { JsonObject } from '../../contract/json.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { record } from '../fs/arguments.ts';
import { LIMITS, onBackend, RUN_FIELD_NAMES, RUN_FIELDS, type RunFields, runFields } from './arguments.ts';

export interface SlurmSubmitArgs {
  readonly tool: string;
  readonly args: JsonObject;
  readonly placement?: Placement;
}

export interface SlurmSubmitData extends RunFields {
  readonly replayed: boolean;
}

const BACKEND = 'slurm';

export const slurmSubmit = defineBuiltin<SlurmSubmitArgs, SlurmSubmitData>({
  id: 'slurm_submit',
  title: 'Submit a run to Slurm',
  description:
    'Calls a tool of an installed toolpack on the Slurm cluster and answers as soon as its job is submitted: the run goes on. ' +
    'The call is decided, counted and recorded as if it were made directly, in the same session. ' +
    'Equal calls are one run: one that is under way is joined, and one that succeeded is answered by its result (replayed). ' +
    'Ask slurm_job_get how it stands, take its outputs with slurm_job_collect, end it with slurm_job_cancel. ' +
    'Call the tool itself to wait for the result.',
  tags: ['runs', 'slurm', 'write'],
  mutates: true,
  limits: LIMITS,
  input: () =>
    record(
      {
        tool: { type: 'string', minLength: 1, maxLength: 200, description: 'The tool of a toolpack.' },
        args: {
          type: 'object',
          default: {},
          description: 'Its arguments, as a direct call would have them.',
        },
        placement: {
          ...(record(
            {
              partition: { type: 'string' },
              account: { type: 'string' },
              qos: { type: 'string' },
              gres: { type: 'string' },
            },
            [],
          ) as object),
          description:
            'Where on the cluster, among what runs.slurm of haft.yaml lists. Changes nothing in the run.',
        },
      },
      ['tool'],
    ),
  output: () =>
    record(
      {
        ...RUN_FIELDS,
        replayed: { type: 'boolean', description: 'An earlier, verified result is there already.' },
      },
      [...RUN_FIELD_NAMES, 'replayed'],
    ),
  examples: [
    {
      title: 'A sort of a table',
      args: { tool: 'table_sort', args: { table: `sha256:${'0'.repeat(64)}`, by: [{ column: 'name' }] } },
    },
  ],
  needs: () => [onBackend(BACKEND)],
  effects: ({ tool }) => [onBackend(BACKEND), { kind: 'run.submit', tool, backend: BACKEND }],
  async run({ tool, args, placement }, ctx) {
    await ctx.intend();
    const { replayed, ...look } = await ctx.runs.submit({
      tool,
      args,
      backend: BACKEND,
      ...(placement ? { placement } : {}),
    });
    const fields = runFields(look);
    ctx.testify({ run: fields.run_id, attempt: fields.attempt?.attempt_id ?? null, replayed });
    return { ...fields, replayed };
  },
});
