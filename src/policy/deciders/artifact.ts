// Owns: deciding effects on artifacts: those of the workspace are granted unless a rule for the tool denies it.
// Refuses: where an import comes from; that path is an effect of its own.
import type { Finding } from '../finding.ts';
import type { Decider } from './decider.ts';

export const decideArtifact: Decider<'artifact.read' | 'artifact.import'> = () => [GRANTED];

const GRANTED: Finding = { verdict: 'allow', rule: 'default', fact: "the workspace's artifacts are granted" };
