// Owns: deciding `run.backend`: whether policy lets anything run on a backend at all.
// Refuses: which tools may, on which image and where there; that is decided with the run.
import type { BackendName } from '../../contract/policy.ts';
import { backendsInUse } from '../../contract/policy-match.ts';
import type { Finding } from '../finding.ts';
import type { Decider } from './decider.ts';

export const decideRunBackend: Decider<'run.backend'> = (effect, { layers }) => {
  const backend = effect.backend as BackendName;
  const findings: Finding[] = [];
  for (const layer of layers) {
    if (!layer.runs) continue;
    const granted = backendsInUse(layer.runs);
    const { where, ...cited } = layer.cite('runs.backends');
    if (granted.includes(backend)) {
      findings.push({ verdict: 'allow', ...cited, fact: `${where} has ${backend}` });
      continue;
    }
    const grant = layer.grant({ runs: { backends: [...(layer.runs.backends ?? []), backend] } });
    const fact = `no line of runs lets anything run on ${backend}, only on ${granted.join(', ')}`;
    findings.push({ verdict: 'deny', ...cited, fact, grant });
  }
  return findings;
};
