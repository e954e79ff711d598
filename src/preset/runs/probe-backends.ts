// Owns: whether each engine that policy lets runs go to answers, found out by asking it.
// Refuses: to run anything on it.
import { BACKENDS } from '../../backends/index.ts';
import { newId } from '../../base/new-id.ts';
import { toErrorEntry } from '../../contract/errors.ts';
import type { RunsPolicy } from '../../contract/policy.ts';
import { backendsInUse } from '../../contract/policy-match.ts';
import { backendSite, inTime } from './run-parts.ts';

export interface ProbedBackend {
  readonly name: string;
  readonly ok: boolean;
  readonly evidence: string;
}

/** Of those that are reached over something: the sandbox of this machine is looked at elsewhere. */
export async function probeBackends(
  runs: RunsPolicy,
  site: { readonly folder: string; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<readonly ProbedBackend[]> {
  const found: ProbedBackend[] = [];
  const inUse = backendsInUse(runs);
  for (const kind of BACKENDS) {
    const { name, here = false } = kind;
    if (here || !inUse.includes(name)) continue;
    const backend = await kind.open(
      backendSite({
        root: `${site.folder}/runs`,
        process: '',
        scope: async () => newId('scope'),
        env: site.env,
        alert: () => {},
        imageEnv: async () => undefined,
      }),
      runs,
    );
    try {
      found.push({ name, ok: true, evidence: (await inTime(backend.probe?.())) ?? 'it is there' });
    } catch (thrown) {
      found.push({ name, ok: false, evidence: toErrorEntry(thrown).message });
    } finally {
      await backend.close();
    }
  }
  return found;
}
