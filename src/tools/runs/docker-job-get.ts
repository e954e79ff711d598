// Owns: `docker_job_get`: how a run in a container stands.
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

export const dockerJobGet = defineBuiltin<RunArgs, RunFields>({
  id: 'docker_job_get',
  title: 'Look at a run in a container',
  description:
    'Answers how a run in a container stands: running, succeeded, failed or cancelled; and its newest attempt, with why it failed and its log as an artifact. ' +
    'One that ended while nobody watched is finished first. Call its tool again to get what it answers: a run that succeeded is not executed again.',
  tags: ['runs', 'docker', 'read'],
  limits: LIMITS,
  input: RUN_ARGS,
  output: record(RUN_FIELDS, RUN_FIELD_NAMES),
  examples: [{ title: 'A run that is under way', args: { run_id: EXAMPLE_RUN } }],
  effects: ({ run_id: run }) => [{ kind: 'run.read', run }],
  async run({ run_id }, ctx) {
    const look = await ctx.runs.look(run_id);
    requireBackend(look, 'docker');
    return runFields(look);
  },
});
