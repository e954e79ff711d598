// Owns: deciding `git`: which operations need a grant of their own.
// Refuses: rules about clean trees and messages; those look at the repository, not at the policy.
import type { Finding } from '../finding.ts';
import type { Decider } from './decider.ts';

export const decideGit: Decider<'git'> = ({ operation }, { layers }) => {
  if (operation !== 'push') return [GRANTED];
  const findings: Finding[] = [];
  for (const layer of layers) {
    if (layer.allowPush === undefined) continue;
    const { where, ...cited } = layer.cite('git.allow_push');
    const verdict = layer.allowPush ? 'allow' : 'deny';
    const grant = layer.grant({ git: { allow_push: true } });
    findings.push({ verdict, ...cited, fact: `${where} is ${layer.allowPush}`, grant });
  }
  return findings;
};

const GRANTED: Finding = { verdict: 'allow', rule: 'default', fact: 'git in the workspace is granted' };
