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
    'Call a tool of a toolpack as a job on the Slurm cluster and return at once; follow it with slurm_job_get, then slurm_job_collect. To wait for it call the tool itself.',
  tags: ['runs', 'slurm', 'write'],
  mutates: true,
  limits: LIMITS,
  input: () =>
    record(
      {
        tool: { type: 'string', minLength: 1, maxLength: 200, description: 'Tool of a toolpack.' },
        args: {
          type: 'object',
          default: {},
          description: 'Its arguments.',
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
          description: 'Where, among what haft.yaml lists.',
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
