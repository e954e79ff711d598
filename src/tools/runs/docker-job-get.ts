// Owns: `docker_job_get`: how a run in a container stands.
// Refuses: to wait for it, and runs of other engines.
import { defineBuiltin } from '../../contract/tool.ts';
import { EXAMPLE_RUN, lookingOn, type RunArgs, type RunFields } from './arguments.ts';

export const dockerJobGet = defineBuiltin<RunArgs, RunFields>({
  ...lookingOn('docker'),
  id: 'docker_job_get',
  title: 'Look at a run in a container',
  description:
    'Show how a run in a container stands, why it failed, and its log. For its result call its tool again: it is not executed again.',
  tags: ['runs', 'docker', 'read'],
  examples: [{ title: 'A run that is under way', args: { run_id: EXAMPLE_RUN } }],
});
