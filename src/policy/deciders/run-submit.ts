// Owns: deciding `run.submit`: what may not be called may not be submitted either.
// Refuses: asking twice: where the rules of the tool ask, its own call does, and where it may run is decided with that call.
import { toolRules } from '../decide-tool.ts';
import type { Finding } from '../finding.ts';
import type { Decider } from './decider.ts';

export const decideRunSubmit: Decider<'run.submit'> = ({ tool }, policy) => {
  const denied = toolRules(tool, policy)
    .findings(undefined, false)
    .filter(({ verdict }) => verdict === 'deny');
  return denied.length > 0 ? denied : [GRANTED];
};

const GRANTED: Finding = {
  verdict: 'allow',
  rule: 'default',
  fact: 'its own call is decided when it is made',
};
