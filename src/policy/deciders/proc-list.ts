// Owns: deciding `proc.list`: looking at the process table is granted unless a rule for the tool denies it.
// Refuses: what is shown of a process; the tool redacts that.
import type { Finding } from '../finding.ts';
import type { Decider } from './decider.ts';

export const decideProcList: Decider<'proc.list'> = () => [GRANTED];

const GRANTED: Finding = { verdict: 'allow', rule: 'default', fact: 'the process table may be looked at' };
