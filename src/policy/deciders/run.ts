// Owns: deciding effects on runs that are there: those of the workspace are granted unless a rule for the tool denies it.
// Refuses: whose run may be ended; the handle asks which session began it.
import type { Finding } from '../finding.ts';
import type { Decider } from './decider.ts';

export const decideRun: Decider<'run.read' | 'run.cancel'> = () => [GRANTED];

const GRANTED: Finding = { verdict: 'allow', rule: 'default', fact: "the workspace's runs are granted" };
