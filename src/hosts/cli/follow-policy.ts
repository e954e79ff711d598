// Owns: a long-lived host's policy: haft.yaml is read again when it changes, and its problems are told.
// Refuses: a policy with an error: the one from before stays, and that is said.
import { formatDiagnostic } from '../../contract/diagnostic.ts';
import { watchHaftYaml } from '../../loader/haft-yaml/watch-haft-yaml.ts';
import type { DefaultRuntime } from '../../preset/default.ts';

/** Answers the function that ends it. `taken` is called when another policy holds. */
export function followPolicy(
  runtime: DefaultRuntime,
  say: (text: string) => void,
  taken: () => void = () => {},
): () => void {
  return watchHaftYaml(runtime.workspace, async () => {
    const before = runtime.policy.current;
    const diagnostics = await runtime.reloadPolicy();
    for (const one of diagnostics) say(`${formatDiagnostic(one)}\n`);
    if (runtime.policy.current === before)
      say('haft: haft.yaml has problems; the policy from before stays\n');
    else {
      say('haft: haft.yaml was read again\n');
      taken();
    }
  });
}
